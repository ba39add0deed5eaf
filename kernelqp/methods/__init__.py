"""Methods: one textbook page each."""

from kernelqp.methods.constrained_ridge import ConstrainedRidge
from kernelqp.methods.hard_margin import HardMarginSVM
from kernelqp.methods.least_squares import RegularizedLeastSquares
from kernelqp.methods.nu_svm import NuSVM
from kernelqp.methods.nu_svr import NuSVR
from kernelqp.methods.one_class import OneClassSVM
from kernelqp.methods.soft_margin import SoftMarginSVM

METHODS = (
    ConstrainedRidge,
    HardMarginSVM,
    NuSVM,
    NuSVR,
    OneClassSVM,
    RegularizedLeastSquares,
    SoftMarginSVM,
)

__all__ = [
    "METHODS",
    "ConstrainedRidge",
    "HardMarginSVM",
    "NuSVM",
    "NuSVR",
    "OneClassSVM",
    "RegularizedLeastSquares",
    "SoftMarginSVM",
]
