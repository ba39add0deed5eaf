"""Methods: one textbook page each."""

from kernelqp.methods.constrained_ridge import ConstrainedRidge
from kernelqp.methods.hard_margin import HardMarginSVM
from kernelqp.methods.least_squares import RegularizedLeastSquares
from kernelqp.methods.logistic import LogisticRegression
from kernelqp.methods.soft_margin import SoftMarginSVM

METHODS = (
    ConstrainedRidge,
    HardMarginSVM,
    LogisticRegression,
    RegularizedLeastSquares,
    SoftMarginSVM,
)

__all__ = [
    "METHODS",
    "ConstrainedRidge",
    "HardMarginSVM",
    "LogisticRegression",
    "RegularizedLeastSquares",
    "SoftMarginSVM",
]
