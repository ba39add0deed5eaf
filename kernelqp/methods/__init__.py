"""Methods: one textbook page each."""

from kernelqp.methods.constrained_ridge import ConstrainedRidge
from kernelqp.methods.hard_margin import HardMarginSVM
from kernelqp.methods.least_squares import RegularizedLeastSquares
from kernelqp.methods.logistic import LogisticRegression
from kernelqp.methods.nu_svm import NuSVM
from kernelqp.methods.nu_svr import NuSVR
from kernelqp.methods.one_class import OneClassSVM
from kernelqp.methods.pegasos import Pegasos
from kernelqp.methods.perceptron import Perceptron
from kernelqp.methods.quantile import QuantileRegression
from kernelqp.methods.soft_margin import SoftMarginSVM
from kernelqp.methods.support_vector_regression import SupportVectorRegression

METHODS = (
    ConstrainedRidge,
    HardMarginSVM,
    QuantileRegression,
    RegularizedLeastSquares,
    SoftMarginSVM,
    SupportVectorRegression,
    NuSVM,
    NuSVR,
    OneClassSVM,
    Pegasos,
    Perceptron,
    LogisticRegression,
)

__all__ = [
    "METHODS",
    "ConstrainedRidge",
    "HardMarginSVM",
    "LogisticRegression",
    "NuSVM",
    "NuSVR",
    "OneClassSVM",
    "Pegasos",
    "Perceptron",
    "QuantileRegression",
    "RegularizedLeastSquares",
    "SoftMarginSVM",
    "SupportVectorRegression",
]
