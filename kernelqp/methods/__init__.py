"""Methods: one textbook page each."""

from kernelqp.methods.constrained_ridge import ConstrainedRidge
from kernelqp.methods.hard_margin import HardMarginSVM
from kernelqp.methods.least_squares import RegularizedLeastSquares
from kernelqp.methods.pegasos import Pegasos
from kernelqp.methods.perceptron import Perceptron
from kernelqp.methods.soft_margin import SoftMarginSVM

METHODS = (
    ConstrainedRidge,
    HardMarginSVM,
    Pegasos,
    Perceptron,
    RegularizedLeastSquares,
    SoftMarginSVM,
)

__all__ = [
    "METHODS",
    "ConstrainedRidge",
    "HardMarginSVM",
    "Pegasos",
    "Perceptron",
    "RegularizedLeastSquares",
    "SoftMarginSVM",
]
