"""The exception tree, and the status of a result.

KernelQPError
├── InputError (also a ValueError)     what you passed in
│   ├── DataError                      X, y or sample_weight
│   ├── ParameterError                 a parameter of a method, loss or kernel
│   ├── KernelError                    a kernel, or the matrix it gave
│   └── ProblemFileError               a problem file
├── SolverError                        a solver that could not do its work
│   ├── SolverNotInstalled
│   └── SolverFailed
└── NotCertified                       you asked for a proof, and there is none

Every message says what came, what was wanted, and what to do.
"""

from enum import Enum


class KernelQPError(Exception):
    """Base of everything this package raises on purpose."""


class InputError(KernelQPError, ValueError):
    """What was passed in cannot be used as it is."""


class DataError(InputError):
    """X, y or sample_weight cannot be used as they are."""


class ParameterError(InputError):
    """A parameter is outside its allowed range."""


class KernelError(InputError):
    """A kernel is unknown, or its matrix is not finite, symmetric or positive semidefinite."""


class ProblemFileError(InputError):
    """A problem file cannot be read; the message names file, key and remedy."""


class SolverError(KernelQPError):
    """A solver could not do its work."""


class SolverNotInstalled(SolverError):
    """The solver asked for is not installed."""


class SolverFailed(SolverError):
    """The solver raised, or returned nothing that could be judged."""


class NotCertified(KernelQPError):
    """A proof was demanded and the numbers do not give one."""


class Status(Enum):
    """What the numbers prove about a result; each value is one sentence with the remedy."""

    CERTIFIED = "The two-sided bound proves the value to within tol."
    NOT_CERTIFIED = (
        "The bound is wider than tol: read certificate.blame, then lower tol for the solver, "
        "choose another solver, or scale the features."
    )
    INFEASIBLE = (
        "No point satisfies the constraints; the proof was verified: relax them, "
        "for instance with SoftMarginSVM."
    )
    UNBOUNDED = (
        "The objective has no finite optimum on this data: add a penalty, or bound the variables."
    )
    NOT_ATTAINED = (
        "The infimum is approached but not reached: use a finite C so that the penalty acts."
    )
    LIMIT = (
        "The solver stopped at its time or iteration limit before tol was met: raise the limit; "
        "the certificate says how far the answer is from the optimum."
    )
