"""Methods: one textbook page each."""

from kernelqp.methods.hard_margin import HardMarginSVM
from kernelqp.methods.soft_margin import SoftMarginSVM

METHODS = (HardMarginSVM, SoftMarginSVM)

__all__ = ["METHODS", "HardMarginSVM", "SoftMarginSVM"]
