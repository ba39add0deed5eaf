"""Methods: one textbook page each."""

from kernelqp.methods.hard_margin import HardMarginSVM
from kernelqp.methods.least_squares import RegularizedLeastSquares
from kernelqp.methods.soft_margin import SoftMarginSVM

METHODS = (HardMarginSVM, RegularizedLeastSquares, SoftMarginSVM)

__all__ = ["METHODS", "HardMarginSVM", "RegularizedLeastSquares", "SoftMarginSVM"]
