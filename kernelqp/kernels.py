"""Kernels k(x, z): frozen values, bound to the training rows before use.

    Linear      x'z                         RBF        exp(-gamma |x - z|^2)
    Polynomial  (gamma x'z + constant)^q    Laplacian  exp(-gamma |x - z|_1)
    Sigmoid     tanh(gamma x'z + constant)  Precomputed, CallableKernel: the user's numbers

`gamma` is a number > 0, "scale" or None (both 1/(d var X), and 1 where X is constant), or "auto"
(1/d); `kernel.bind(X)` makes it a number. Overflow gives inf here and a KernelError in `gram`.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast, runtime_checkable

import numpy as np
import scipy.sparse

from kernelqp._types import Matrix, Vector
from kernelqp.errors import KernelError, ParameterError
from kernelqp.kernel_matrix import CityDistances, SquareDistances
from kernelqp.kernel_parameters import (
    Gamma,
    checked_gamma,
    finite_number,
    numeric_gamma,
    points,
    positive_integer,
    set_fields,
)

if TYPE_CHECKING:
    from kernelqp.kernel_audit import KernelAudit


@runtime_checkable
class Kernel(Protocol):
    """What every kernel offers; the rows of X and Z are points."""

    @property
    def psd(self) -> bool:
        """True if its matrices are positive semidefinite by construction; False: measure."""
        return False

    def bind(self, X: Matrix) -> Self:  # noqa: ARG002
        """Return this kernel with every parameter a number, taken from X where needed."""
        return self

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> Matrix:
        """Kernel matrix k(X_i, Z_j), shape (n_x, n_z); Z is X when omitted."""

    def diagonal(self, X: Matrix) -> Vector:
        """Values k(X_i, X_i), shape (n_x,)."""

    def against(self, Z: Matrix) -> Callable[[Matrix, Matrix], None]:
        """Return what writes k(X, Z) of one X after another into a matrix."""

        def to(X: Matrix, out: Matrix) -> None:
            out[:] = self(X, Z)

        return to

    def features(self, X: Matrix) -> Matrix | None:  # noqa: ARG002
        """Explicit features F, shape (n_x, r), with k(X, Z) = F_X F_Z'; None if implicit."""
        return None

    def __repr__(self) -> str:
        values = {f.name: getattr(self, f.name) for f in fields(cast("Any", self))}
        shown = ", ".join(f"{name}={v!r}" for name, v in values.items() if v is not None)
        return f"{type(self).__name__}({shown})"

    def audit(self, X: object) -> "KernelAudit":
        """Measure the kernel matrix of the rows X, in O(n^3); see `kernel_audit.audit`."""
        from kernelqp.kernel_audit import audit

        return audit(self, X)

    __array_ufunc__: ClassVar[None] = None  # a NumPy number leaves its product to __rmul__

    def __add__(self, other: object) -> "Kernel":
        from kernelqp.kernel_algebra import added

        return added(self, other)

    def __radd__(self, other: object) -> "Kernel":
        return self if other == 0 else NotImplemented  # sum() starts from 0

    def __mul__(self, other: object) -> "Kernel":
        from kernelqp.kernel_algebra import multiplied

        return multiplied(self, other)

    def __rmul__(self, other: object) -> "Kernel":
        return self * other

    def __pow__(self, other: object) -> "Kernel":
        from kernelqp.kernel_algebra import raised

        return raised(self, other)


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """Linear kernel k(x, z) = x'z; its explicit features are X itself.

    Examples
    --------
    >>> Linear()(np.array([[200]], dtype=np.uint8))
    array([[40000.]])
    """

    psd = True

    @np.errstate(all="ignore")
    def __call__(self, X: Matrix, Z: Matrix | None = None) -> Matrix:
        """X Z'."""
        X = points(X)
        return X @ (X if Z is None else points(Z)).T

    @np.errstate(all="ignore")
    def diagonal(self, X: Matrix) -> Vector:
        """|x|^2."""
        X = points(X)
        return cast("Vector", np.einsum("ij,ij->i", X, X))

    def features(self, X: Matrix) -> Matrix:
        """X itself, sparse where it is."""
        return X if scipy.sparse.issparse(X) else points(X)


class _Scaled(Kernel, Protocol):
    """A kernel with a gamma."""

    gamma: Gamma

    def bind(self, X: Matrix) -> Self:
        return cast("Self", replace(cast("Any", self), gamma=numeric_gamma(self.gamma, X)))

    @property
    def _number(self) -> float:
        if isinstance(self.gamma, float):
            return self.gamma
        raise KernelError(f"kernel {self} has no numeric gamma yet: use kernel.bind(X_train)")


class _OfProducts(_Scaled, Protocol):
    """A function of t = gamma x'z + constant, elementwise and in place (`_map`)."""

    constant: float

    def _map(self, t: Matrix) -> Matrix: ...

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> Matrix:
        return self._of(Linear()(X, Z))

    def diagonal(self, X: Matrix) -> Vector:
        return self._of(Linear().diagonal(X))

    @np.errstate(all="ignore")
    def _of(self, products: Matrix) -> Matrix:
        products *= self._number
        products += self.constant
        return self._map(products)


class _OfDistance(_Scaled, Protocol):
    """exp(-gamma distance(x, z)) for a distance that makes it PSD."""

    psd: bool = True
    _distances: ClassVar[type[SquareDistances] | type[CityDistances]]

    @np.errstate(all="ignore")
    def __call__(self, X: Matrix, Z: Matrix | None = None) -> Matrix:
        exponents = self._distances(points(X if Z is None else Z), self._number).exponents(
            points(X)
        )
        return cast("Matrix", np.exp(exponents, out=exponents))

    def against(self, Z: Matrix) -> Callable[[Matrix, Matrix], None]:
        distances = self._distances(points(Z), self._number)

        @np.errstate(all="ignore")
        def to(X: Matrix, out: Matrix) -> None:
            np.exp(distances.exponents(points(X), out), out=out)

        return to

    def diagonal(self, X: Matrix) -> Vector:
        return np.ones(len(X))


@dataclass(frozen=True, repr=False)
class Polynomial(_OfProducts):
    """Polynomial kernel k(x, z) = (gamma x'z + constant)^degree.

    Parameters
    ----------
    degree : int
        Power, >= 1.
    gamma : float, "scale", "auto" or None
        Units 1/[x]^2, > 0.
    constant : float
        Dimensionless, finite. PSD by construction when >= 0; otherwise the matrix is measured.

    Examples
    --------
    >>> Polynomial(degree=2, gamma=1, constant=1)(np.array([[1.0, 1.0], [1.0, -1.0]]))
    array([[9., 1.],
           [1., 9.]])
    """

    degree: int = 3
    gamma: Gamma = None
    constant: float = 0.0

    def __post_init__(self) -> None:
        constant = finite_number("constant", self.constant)
        degree = positive_integer("degree", self.degree)
        set_fields(self, degree=degree, gamma=checked_gamma(self.gamma), constant=constant)

    @property
    def psd(self) -> bool:
        """True if constant >= 0."""
        return self.constant >= 0

    def _map(self, t: Matrix) -> Matrix:
        return np.power(t, self.degree, out=t)

    def feature_map(self, X: Matrix) -> Matrix:
        """Monomials phi(x) with phi(x)'phi(z) = (gamma x'z + constant)^degree.

        gamma is taken from X where it is no number; see `polynomial_features` for what is raised.

        Examples
        --------
        >>> Polynomial(degree=2, gamma=1, constant=1).feature_map(np.array([[1.0, -1.0]])).round(2)
        array([[ 1.  ,  1.41, -1.41,  1.  , -1.41,  1.  ]])
        """
        from kernelqp.polynomial_features import polynomial_features

        return polynomial_features(X, self.degree, self.bind(X)._number, self.constant)


@dataclass(frozen=True, repr=False)
class Sigmoid(_OfProducts):
    """Sigmoid kernel k(x, z) = tanh(gamma x'z + constant); not PSD in general, so measured.

    The parameters are those of `Polynomial`.
    """

    gamma: Gamma = None
    constant: float = 0.0

    def __post_init__(self) -> None:
        constant = finite_number("constant", self.constant)
        set_fields(self, gamma=checked_gamma(self.gamma), constant=constant)

    def _map(self, t: Matrix) -> Matrix:
        return np.tanh(t, out=t)


@dataclass(frozen=True, repr=False)
class RBF(_OfDistance):
    """Gaussian kernel k(x, z) = exp(-gamma |x - z|^2), gamma = 1/(2 sigma^2).

    Parameters
    ----------
    gamma : float, "scale", "auto" or None
        Units 1/[x]^2, > 0.
    sigma : float or None
        Width, units [x], > 0: another way to give gamma, and stored as gamma.

    Examples
    --------
    >>> RBF(sigma=2.0), RBF().bind(np.array([[0.0], [2.0]]))
    (RBF(gamma=0.125), RBF(gamma=1.0))
    """

    gamma: Gamma = None
    sigma: float | None = None

    _distances = SquareDistances

    def __post_init__(self) -> None:
        if self.sigma is not None:
            if self.gamma is not None:
                raise ParameterError("give gamma or sigma, not both: gamma = 1/(2 sigma^2)")
            sigma = finite_number("sigma", self.sigma, above=0)
            set_fields(self, gamma=0.5 / sigma / sigma, sigma=None)
        set_fields(self, gamma=checked_gamma(self.gamma))


@dataclass(frozen=True, repr=False)
class Laplacian(_OfDistance):
    """Laplacian kernel k(x, z) = exp(-gamma sum_k |x_k - z_k|).

    The parameter gamma is that of `RBF`, but in units 1/[x].
    """

    gamma: Gamma = None

    _distances = CityDistances

    def __post_init__(self) -> None:
        set_fields(self, gamma=checked_gamma(self.gamma))


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    """The kernel matrix given in place of X: (n, n) to fit, (n_test, n_train) to predict."""

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> Matrix:  # noqa: ARG002
        """X, which is the kernel matrix, as it is."""
        return X

    def diagonal(self, X: Matrix) -> Vector:
        """Diagonal of the kernel matrix."""
        return np.diagonal(X).copy()


@dataclass(frozen=True, repr=False)
class CallableKernel(Kernel):
    """A function of two matrices, as scikit-learn's SVC takes it; measured, not assumed PSD.

    function(X, Z), of shapes (n_x, d) and (n_z, d), returns shape (n_x, n_z). For a function of two
    points use `functools.partial(pairwise_kernels, metric=function)` of scikit-learn.
    """

    function: Callable[[Matrix, Matrix], Matrix]

    @np.errstate(all="ignore")
    def __call__(self, X: Matrix, Z: Matrix | None = None) -> Matrix:
        """Return a copy of function(X, Z); float32 stays float32, so that its rounding is known."""
        X = points(X)
        Z = X if Z is None else points(Z)
        wanted = f"a callable kernel takes two matrices and returns shape {(len(X), len(Z))} here"
        try:
            K = np.array(self.function(X, Z))
        except (TypeError, ValueError, IndexError) as error:
            raise KernelError(f"kernel {self} failed: {error}; {wanted}") from error
        if K.shape != (len(X), len(Z)) or K.dtype.kind not in "biuf":
            raise KernelError(f"kernel {self} gave shape {K.shape}, dtype {K.dtype}; {wanted}")
        return cast("Matrix", K if K.dtype.kind == "f" else K.astype(np.float64))

    def diagonal(self, X: Matrix) -> Vector:
        """k(x, x), one point at a time."""
        return np.array([self(row[None, :])[0, 0] for row in points(X)], dtype=np.float64)

    def __repr__(self) -> str:
        return f"CallableKernel({getattr(self.function, '__qualname__', self.function)})"
