"""Kernel machines as convex programs: primal, dual, and a proof of optimality."""

from kernelqp import conventions, losses
from kernelqp.ball import BallRisk
from kernelqp.certificate import Candidate, Certificate, certify_candidate
from kernelqp.certify import certify
from kernelqp.check import assert_kkt, check_kkt
from kernelqp.compare import Comparison, compare
from kernelqp.crossings import Crossing
from kernelqp.description import Description
from kernelqp.errors import (
    InputError,
    KernelQPError,
    NotCertified,
    SolverError,
    Status,
)
from kernelqp.formulation import Formulation
from kernelqp.gram import Gram
from kernelqp.kernel_algebra import exp, normalize, power_series
from kernelqp.kernel_audit import KernelAudit
from kernelqp.kernels import RBF, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from kernelqp.kkt import KKTReport, dual_function, lagrangian
from kernelqp.methods import (
    ConstrainedRidge,
    HardMarginSVM,
    LogisticRegression,
    NuSVM,
    NuSVR,
    OneClassSVM,
    Pegasos,
    Perceptron,
    QuantileRegression,
    RegularizedLeastSquares,
    SoftMarginSVM,
    SupportVectorRegression,
)
from kernelqp.model_certificate import ModelCertificate
from kernelqp.non_crossing import JointQuantiles
from kernelqp.offset import Offset
from kernelqp.problem_file import Problem, load_problem, problem_names
from kernelqp.quantiles import Quantiles, quantiles
from kernelqp.repaired import Repaired
from kernelqp.risk import Function, RegularizedRisk
from kernelqp.separable import Separability, separable
from kernelqp.solution import Infeasible, Solution
from kernelqp.support import Support

__version__ = "0.1.0"

__all__ = [
    "RBF",
    "BallRisk",
    "Candidate",
    "Certificate",
    "Comparison",
    "ConstrainedRidge",
    "Crossing",
    "Description",
    "Formulation",
    "Function",
    "Gram",
    "HardMarginSVM",
    "Infeasible",
    "InputError",
    "JointQuantiles",
    "KKTReport",
    "KernelAudit",
    "KernelQPError",
    "Laplacian",
    "Linear",
    "LogisticRegression",
    "ModelCertificate",
    "NotCertified",
    "NuSVM",
    "NuSVR",
    "Offset",
    "OneClassSVM",
    "Pegasos",
    "Perceptron",
    "Polynomial",
    "Precomputed",
    "Problem",
    "QuantileRegression",
    "Quantiles",
    "RegularizedLeastSquares",
    "RegularizedRisk",
    "Repaired",
    "Separability",
    "Sigmoid",
    "SoftMarginSVM",
    "Solution",
    "SolverError",
    "Status",
    "Support",
    "SupportVectorRegression",
    "__version__",
    "assert_kkt",
    "certify",
    "certify_candidate",
    "check_kkt",
    "compare",
    "conventions",
    "dual_function",
    "exp",
    "lagrangian",
    "load_problem",
    "losses",
    "normalize",
    "power_series",
    "problem_names",
    "quantiles",
    "separable",
]
