"""Kernels made of kernels: sums, products, multiples, powers, series, normalisation.

    k1 + k2    k1 * k2    2.0 * k    k ** 3    exp(k)    power_series(k, a)    normalize(k)

Each is positive semidefinite where its parts are: sums and limits of PSD matrices are PSD, an
elementwise product is by Schur's theorem, and powers, series with coefficients >= 0 and the
exponential follow from these; k(x,z)/sqrt(k(x,x) k(z,z)) is D K D with a diagonal D. If a part is
not PSD by construction, the composition is measured. One n x n array is held for each part.

Source: Mohri, Rostamizadeh & Talwalkar, Foundations of Machine Learning, section 6.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from kernelqp.errors import KernelError, ParameterError
from kernelqp.kernel_names import resolve
from kernelqp.kernel_parameters import finite_number, positive_integer, set_fields
from kernelqp.kernels import Kernel
from kernelqp.repaired import Repaired, is_precomputed

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector

ATOM = 4  # precedence of what needs no parentheses


def exp(kernel: Kernel | Any) -> Kernel:
    """Exponential exp(k(x, z)) = sum_j k(x, z)^j / j!, elementwise.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k, dimensionless.

    Raises
    ------
    KernelError
        If there is no such kernel, or it is Precomputed or Repaired.

    Source
    ------
    Mohri, Rostamizadeh & Talwalkar, Foundations of Machine Learning, section 6.2.

    Examples
    --------
    >>> from kernelqp.kernels import RBF
    >>> X = np.array([[0.0], [1.0]])
    >>> exp("linear")(X).round(4)
    array([[1.    , 1.    ],
           [1.    , 2.7183]])
    >>> bool(np.allclose(normalize(exp("linear"))(X), RBF(gamma=0.5)(X)))
    True
    """
    return Exponential(kernel)


def power_series(kernel: Kernel | Any, coefficients: Iterable[float]) -> Kernel:
    """Power series sum_j a_j k(x, z)^j with finitely many a_j >= 0, elementwise; k^0 = 1.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k, dimensionless.
    coefficients : iterable of float
        a_0, a_1, ...: finite, >= 0, not all 0.

    Raises
    ------
    ParameterError
        If a coefficient is negative or not finite, or none is > 0.
    KernelError
        If there is no such kernel, or it is Precomputed or Repaired.

    Source
    ------
    Mohri, Rostamizadeh & Talwalkar, Foundations of Machine Learning, section 6.2.

    Examples
    --------
    >>> power_series("linear", [1, 0, 2])(np.array([[1.0], [2.0]]))  # 1 + 2 (x z)^2
    array([[ 3.,  9.],
           [ 9., 33.]])
    """
    return PowerSeries(kernel, cast("tuple[float, ...]", coefficients))


def normalize(kernel: Kernel | Any) -> Kernel:
    """Cosine k(x, z) / sqrt(k(x, x) k(z, z)); 0 where k(x, x) = 0 or k(z, z) = 0.

    Not finite where k(x, x) is negative or overflows, so that no wrong number comes of it.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k, in any units; the result is dimensionless.

    Raises
    ------
    KernelError
        If there is no such kernel, or it is Precomputed or Repaired.

    Source
    ------
    Mohri, Rostamizadeh & Talwalkar, Foundations of Machine Learning, section 6.2.

    Examples
    --------
    >>> normalize("linear")(np.array([[3.0, 4.0], [5.0, 0.0], [0.0, 0.0]]))
    array([[1. , 0.6, 0. ],
           [0.6, 1. , 0. ],
           [0. , 0. , 0. ]])
    """
    return Normalized(kernel)


class _Composition(Kernel):
    """A function of the values of its parts, elementwise (`_map`); the parts are its fields."""

    precedence: ClassVar[int] = ATOM

    def __post_init__(self) -> None:
        for name in self._names():
            set_fields(self, **{name: _checked_part(getattr(self, name))})

    def _names(self) -> list[str]:
        names = [field.name for field in fields(cast("Any", self))]
        return [name for name in names if name in ("left", "right", "kernel")]

    def _map(self, *values: Matrix) -> Matrix:
        raise NotImplementedError

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return tuple(getattr(self, name) for name in self._names())

    @property
    def psd(self) -> bool:
        """True if every part is PSD by construction."""
        return all(part.psd for part in self.parts)

    def bind(self, X: Matrix) -> Self:
        """Bind every part to the same rows."""
        bound = {name: getattr(self, name).bind(X) for name in self._names()}
        return cast("Self", replace(cast("Any", self), **bound))

    def __call__(self, X: Matrix, Z: Matrix | None = None) -> Matrix:
        """Combine the matrices of the parts."""
        return self._combined([part(X, Z) for part in self.parts])

    def diagonal(self, X: Matrix) -> Vector:
        """Combine the diagonals of the parts."""
        return self._combined([part.diagonal(X) for part in self.parts])

    @np.errstate(all="ignore")
    def _combined(self, values: list[Matrix]) -> Matrix:
        # a float32 part makes the whole float32, so that its rounding stays known
        coarsest = max((v.dtype for v in values), key=lambda dtype: np.finfo(dtype).eps)
        return self._map(*values).astype(coarsest, copy=False)


@dataclass(frozen=True, repr=False)
class Sum(_Composition):
    """Sum k1(x, z) + k2(x, z); its features are those of both, side by side."""

    left: Kernel
    right: Kernel
    precedence: ClassVar[int] = 1

    def _map(self, *values: Matrix) -> Matrix:
        return values[0] + values[1]

    def features(self, X: Matrix) -> Matrix | None:
        """[F1, F2], shape (n, r1 + r2), where both kernels have explicit features."""
        left, right = self.left.features(X), self.right.features(X)
        return None if left is None or right is None else np.hstack([left, right])

    def __repr__(self) -> str:
        return f"{_shown(self.left, 1)} + {_shown(self.right, 2)}"


@dataclass(frozen=True, repr=False)
class Product(_Composition):
    """Product k1(x, z) k2(x, z), elementwise."""

    left: Kernel
    right: Kernel
    precedence: ClassVar[int] = 2

    def _map(self, *values: Matrix) -> Matrix:
        return values[0] * values[1]

    def __repr__(self) -> str:
        return f"{_shown(self.left, 2)} * {_shown(self.right, 3)}"


@dataclass(frozen=True, repr=False)
class Scaled(_Composition):
    """Multiple c k(x, z) with a finite scale c > 0; its features are sqrt(c) F."""

    scale: float
    kernel: Kernel
    precedence: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, scale=finite_number("scale", self.scale, above=0))

    def _map(self, *values: Matrix) -> Matrix:
        return self.scale * values[0]

    @np.errstate(all="ignore")
    def features(self, X: Matrix) -> Matrix | None:
        """sqrt(c) F, shape (n, r), where the kernel has explicit features."""
        features = self.kernel.features(X)
        return None if features is None else np.sqrt(self.scale) * features

    def __repr__(self) -> str:
        return f"{self.scale} * {_shown(self.kernel, 3)}"


@dataclass(frozen=True, repr=False)
class Power(_Composition):
    """Power k(x, z)^p with an integer p >= 1."""

    kernel: Kernel
    power: int
    precedence: ClassVar[int] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, power=positive_integer("power", self.power))

    def _map(self, *values: Matrix) -> Matrix:
        return np.power(values[0], self.power)

    def __repr__(self) -> str:
        return f"{_shown(self.kernel, ATOM)} ** {self.power}"


@dataclass(frozen=True, repr=False)
class Exponential(_Composition):
    """Elementwise exponential of a kernel; see `exp`."""

    kernel: Kernel

    def _map(self, *values: Matrix) -> Matrix:
        return np.exp(values[0])

    def __repr__(self) -> str:
        return f"exp({self.kernel!r})"


@dataclass(frozen=True, repr=False)
class PowerSeries(_Composition):
    """sum_j a_j k(x, z)^j; see `power_series`."""

    kernel: Kernel
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, coefficients=_checked_coefficients(self.coefficients))

    def _map(self, *values: Matrix) -> Matrix:
        last = np.flatnonzero(self.coefficients)[-1]  # 0 times an overflow would be nan
        out = np.full_like(values[0], self.coefficients[last])
        for coefficient in reversed(self.coefficients[:last]):
            out *= values[0]
            out += coefficient
        return out

    def __repr__(self) -> str:
        return f"power_series({self.kernel!r}, {self.coefficients})"


@dataclass(frozen=True, repr=False)
class Normalized(_Composition):
    """k(x, z) / sqrt(k(x, x) k(z, z)); see `normalize`."""

    kernel: Kernel

    @np.errstate(all="ignore")
    def __call__(self, X: Matrix, Z: Matrix | None = None) -> Matrix:
        """Divide by both lengths at once: one after the other would not be symmetric."""
        K = self.kernel(X, Z)
        left = _lengths(np.diagonal(K) if Z is None else self.kernel.diagonal(X))
        right = left if Z is None else _lengths(self.kernel.diagonal(Z))
        scale = np.multiply.outer(left, right)
        scale[scale == 0] = np.inf
        cosines = np.divide(K, scale, out=scale).astype(K.dtype, copy=False)
        if Z is None:
            np.fill_diagonal(cosines, _one_or_zero(left))
        return cosines

    def diagonal(self, X: Matrix) -> Vector:
        """1, and 0 where k(x, x) = 0."""
        return _one_or_zero(_lengths(self.kernel.diagonal(X)))

    def __repr__(self) -> str:
        return f"normalize({self.kernel!r})"


def added(kernel: Kernel, other: object) -> Kernel:
    """Return the sum of two kernels, for ``+``; NotImplemented for anything else."""
    return Sum(kernel, cast("Kernel", other)) if _is_kernel(other) else NotImplemented


def multiplied(kernel: Kernel, other: object) -> Kernel:
    """Return the product with a kernel or a number, for ``*``; else NotImplemented."""
    if _is_kernel(other):
        return Product(kernel, cast("Kernel", other))
    return Scaled(cast("float", other), kernel) if isinstance(other, Real) else NotImplemented


def raised(kernel: Kernel, power: object) -> Kernel:
    """Return the power of a kernel, for ``**``; NotImplemented where it is no number."""
    return Power(kernel, cast("int", power)) if isinstance(power, Real) else NotImplemented


def _is_kernel(thing: object) -> bool:
    return isinstance(thing, Kernel) and not isinstance(thing, type)  # a class has the members too


def _checked_part(kernel: object) -> Kernel:
    """Return a kernel that can take part, or say what to do instead."""
    part = resolve(kernel)
    if is_precomputed(part):
        raise KernelError(
            f"kernel {part} cannot be combined: its X is the matrix itself. Combine the matrices "
            "yourself, for instance K1 + K2, and give the result in place of X with Precomputed()"
        )
    if isinstance(part, Repaired):
        raise KernelError(
            f"kernel {part} cannot be combined: a repair is that of one training matrix. Repair "
            "the result instead, for instance Repaired(k1 + k2, 'clip')"
        )
    return part


def _checked_coefficients(coefficients: object) -> tuple[float, ...]:
    if isinstance(coefficients, str) or not isinstance(coefficients, Iterable):
        raise ParameterError(
            f"coefficients must be a_0, a_1, ... in a sequence; got {coefficients!r}"
        )
    numbers = tuple(
        finite_number(f"coefficients[{j}]", value, at_least=0)
        for j, value in enumerate(coefficients)
    )
    if not any(numbers):
        raise ParameterError(f"coefficients must have one > 0; got {numbers!r}")
    return numbers


@np.errstate(all="ignore")
def _lengths(squares: Vector) -> Vector:
    """sqrt(k(x, x)); nan where that is negative or infinite, so that no row passes as finite."""
    return cast("Vector", np.sqrt(np.where(np.isfinite(squares), squares, np.nan)))


@np.errstate(all="ignore")
def _one_or_zero(lengths: Vector) -> Vector:
    return cast("Vector", np.where(lengths == 0, 0.0, lengths / lengths))


def _shown(kernel: Kernel, least: int) -> str:
    """Return the kernel's words, in parentheses where it binds less than needed."""
    needed = getattr(kernel, "precedence", ATOM) < least
    return f"({kernel!r})" if needed else repr(kernel)
