"""What a kernel matrix is: symmetric, finite, positive semidefinite; and whether it is of use.

A kernel that is PSD on paper may still be nearly constant, or nearly the identity, on the data at
hand: then every method fits nothing, or every row by itself. The audit measures, and raises nothing
for what it finds. It needs all eigenvalues: O(n^3) time and a few n x n arrays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import scipy.linalg

from kernelqp.arrays import EPS, precision_of
from kernelqp.data import read_features
from kernelqp.errors import DataError, KernelError
from kernelqp.kernel_matrix import absolute_row_sums
from kernelqp.repaired import Repaired, is_precomputed

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector
    from kernelqp.kernels import Kernel

BY_CONSTRUCTION: Final = "positive semidefinite by construction"
MEASURED: Final = "positive semidefinite, measured"
UP_TO_ROUNDING: Final = "positive semidefinite up to rounding"
NOT_PSD: Final = "not positive semidefinite"
NOT_MEASURED: Final = "not measured: the matrix is not finite"

NOT_FINITE: Final = (
    "not finite: overflow or nan in the matrix; scale the features, or lower the degree or gamma"
)

NEAR = 1e-3  # relative to the diagonal: entries this close to it, or to 0, tell rows apart no more
ALONE = 0.95  # share of the rows, so that a few neighbours do not hide a matrix near the identity
WIDE = 1e6  # ratio of diagonal entries


@dataclass(frozen=True, slots=True, eq=False)
class KernelAudit:
    """What was measured of the kernel matrix K on n rows; `print` it, or read its parts.

    Attributes
    ----------
    kernel : Kernel
        The kernel with numeric parameters, as bound to the rows.
    n : int
        Number of rows.
    symmetric : bool
        Whether K = K' up to rounding, |K - K'| <= 8 n eps max |K|.
    asymmetry : float
        Largest |K_ij - K_ji|, units [k].
    finite : bool
        Whether all entries, and the sums of |K_ij| along the rows, are finite.
    smallest_eigenvalue, largest_eigenvalue : float
        Of (K + K')/2, units [k]; nan if K is not finite.
    verdict : str
        "positive semidefinite by construction", "positive semidefinite, measured" (the smallest
        eigenvalue is above rounding, 8 n eps times the largest), "positive semidefinite up to
        rounding", "not positive semidefinite", or "not measured: the matrix is not finite".
    effective_rank : int
        Eigenvalues above n eps times the largest; 0 if K is not finite.
    diagonal_range : tuple of float
        Smallest and largest K_ii, units [k].
    warnings : tuple of str
        What is wrong, each with its remedy.
    """

    kernel: Kernel
    n: int
    symmetric: bool
    asymmetry: float
    finite: bool
    smallest_eigenvalue: float
    largest_eigenvalue: float
    verdict: str
    effective_rank: int
    diagonal_range: tuple[float, float]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        lines = self._lines()
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name.ljust(width)}  {value}" for name, value in lines)

    def __rich__(self) -> Any:
        """Return the same as a table of rich."""
        from rich.table import Table
        from rich.text import Text

        table = Table("kernel")
        table.add_column(Text(repr(self.kernel)))
        for name, value in self._lines()[1:]:
            style = "bold red" if name == "warning" else ""
            table.add_row(name, Text(value, style=style))
        return table

    def _lines(self) -> list[tuple[str, str]]:
        least, most = self.diagonal_range
        return [
            ("kernel", repr(self.kernel)),
            ("rows", str(self.n)),
            ("finite", "yes" if self.finite else "no"),
            ("symmetric", f"{'yes' if self.symmetric else 'no'}, |K - K'| <= {self.asymmetry:.3g}"),
            ("eigenvalues", f"{self.smallest_eigenvalue:.6g} to {self.largest_eigenvalue:.6g}"),
            ("verdict", self.verdict),
            ("effective rank", f"{self.effective_rank} of {self.n}"),
            ("diagonal", f"{least:.6g} to {most:.6g}"),
            *(("warning", warning) for warning in self.warnings),
        ]


def audit(kernel: Kernel, X: object) -> KernelAudit:
    """Measure the matrix K_ij = k(x_i, x_j): symmetry, eigenvalues, rank, and what to change.

    Measured even when the kernel is PSD by construction; such a kernel loses its word only where
    the smallest eigenvalue is below -sqrt(eps) times the largest, which is no rounding. All
    eigenvalues are computed, O(n^3) time: for many thousand rows audit a sample of them.
    A `Repaired` kernel is measured as it is before the repair.

    Parameters
    ----------
    kernel : Kernel
        Bound to the rows here, if it is not yet.
    X : array-like, shape (n, d), or (n, n) for a precomputed kernel, where it is the matrix
        Rows, finite; a precomputed matrix may be anything real.

    Returns
    -------
    KernelAudit

    Raises
    ------
    DataError
        If X cannot be read.
    KernelError
        If a precomputed matrix is not square, or a callable kernel gives no matrix. Never for a
        matrix that is not finite, not symmetric or not PSD: that is what is reported.

    Source
    ------
    Mohri, Rostamizadeh & Talwalkar, Foundations of Machine Learning, section 6.2 (PSD kernels).

    Examples
    --------
    >>> from kernelqp.kernels import RBF, Precomputed
    >>> print(RBF(gamma=0.5).audit([[0.0], [1.0], [3.0]]))
    kernel          RBF(gamma=0.5)
    rows            3
    finite          yes
    symmetric       yes, |K - K'| <= 0
    eigenvalues     0.380829 to 1.62389
    verdict         positive semidefinite by construction
    effective rank  3 of 3
    diagonal        1 to 1
    >>> Precomputed().audit([[1.0, 2.0], [2.0, 1.0]]).verdict
    'not positive semidefinite'
    """
    rows, precision = _read(kernel, X)
    kernel = kernel.bind(rows)
    with np.errstate(all="ignore"):
        raw = kernel(rows)
        precision = max(precision, precision_of(raw))
        return _measured(kernel, rows, np.asarray(raw, dtype=np.float64), precision)


def _read(kernel: Kernel, X: object) -> tuple[Matrix, float]:
    """X as a matrix, and the unit roundoff of its numbers where they are K."""
    if not is_precomputed(kernel):
        return read_features(X)[0], 0.0
    try:
        K = np.array(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"K must be a matrix of real numbers: {error}") from error
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.size == 0:
        raise KernelError(f"K must be square, shape (n, n); got {K.shape}")
    return K, precision_of(X)


def _measured(kernel: Kernel, rows: Matrix, K: Matrix, precision: float) -> KernelAudit:
    n, diagonal = len(K), np.diagonal(K)
    finite = bool(np.isfinite(absolute_row_sums(K)).all())
    asymmetry = _asymmetry(K)
    largest = float(np.abs(K[np.isfinite(K)]).max(initial=0.0))
    symmetric = asymmetry <= 8 * n * precision * largest
    values = scipy.linalg.eigvalsh(0.5 * K + 0.5 * K.T) if finite else np.array([math.nan])
    rounding = _rounding(kernel, values, n * precision)
    return KernelAudit(
        kernel=kernel,
        n=n,
        symmetric=symmetric,
        asymmetry=asymmetry,
        finite=finite,
        smallest_eigenvalue=float(values[0]),
        largest_eigenvalue=float(values[-1]),
        verdict=_verdict(kernel, values, rounding, symmetric),
        effective_rank=int(np.sum(values > n * precision * max(values[-1], 0.0))),
        diagonal_range=(float(diagonal.min()), float(diagonal.max())),
        warnings=(
            *([] if symmetric else [_not_symmetric(asymmetry)]),
            *(_warnings(kernel, rows, K) if finite else [NOT_FINITE]),
            *([_not_psd(kernel, float(values[0]))] if values[0] < -rounding else []),
        ),
    )


def _asymmetry(K: Matrix) -> float:
    """Return max |K - K'|; infinities and nans that face their like are symmetric."""
    gap = np.abs(K - K.T)
    gap[(K == K.T) | (np.isnan(K) & np.isnan(K.T))] = 0.0
    return float(np.nan_to_num(gap, nan=np.inf, posinf=np.inf).max())


def _rounding(kernel: Kernel, values: Vector, unit: float) -> float:
    """Return how far below 0 an eigenvalue may be by rounding."""
    size = float(np.abs(values).max())
    return size * (math.sqrt(EPS) if kernel.psd else 8 * unit)


def _verdict(kernel: Kernel, values: Vector, rounding: float, symmetric: bool) -> str:
    if np.isnan(values[0]):
        return NOT_MEASURED
    if not symmetric or values[0] < -rounding:
        return NOT_PSD
    if kernel.psd:
        return BY_CONSTRUCTION
    return MEASURED if values[0] > rounding or not values.any() else UP_TO_ROUNDING


def _warnings(kernel: Kernel, rows: Matrix, K: Matrix) -> list[str]:
    """Return what makes a finite matrix useless although nothing is wrong with it."""
    found = []
    if len(K) > 1:
        found += _similarities(kernel, rows, K)
    sizes = np.diagonal(K)[np.diagonal(K) > 0]
    ratio = sizes.max() / sizes.min() if sizes.size else 1.0
    if ratio > WIDE:
        remedy = "scale the features or use normalize(kernel)"
        if is_precomputed(kernel):
            remedy = "divide K_ij by sqrt(K_ii K_jj)"
        found.append(f"the diagonal ranges over a factor of {ratio:.3g}: {remedy}")
    return found


def _similarities(kernel: Kernel, rows: Matrix, K: Matrix) -> list[str]:
    """Say where the entries off the diagonal tell rows apart no more."""
    raise_it, lower_it = _remedies(kernel)
    if np.ptp(K) <= NEAR * np.abs(K).max():
        if not is_precomputed(kernel) and not np.ptp(rows, axis=0).any():
            return ["constant: all rows are the same point; no kernel can tell them apart"]
        return [f"nearly constant: {raise_it}"]
    lengths = np.sqrt(np.abs(np.diagonal(K)))
    others = np.abs(K) / np.multiply.outer(lengths, lengths)
    others[np.isnan(others) | (np.abs(others - 1.0) <= NEAR**2)] = (
        0.0  # the row itself, and its duplicates
    )
    alone = int(np.sum(others.max(axis=1) < NEAR))
    if alone < ALONE * len(K):
        return []
    who = "every row is only similar to itself"
    if alone < len(K):
        who = f"{alone} of {len(K)} rows are only similar to themselves"
    return [f"nearly the identity: {who}; {lower_it}"]


def _remedies(kernel: Kernel) -> tuple[str, str]:
    """Return what to do about a nearly constant matrix, and about one near the identity."""
    if _has_gamma(kernel):
        return "gamma is too small, raise it", "lower gamma"
    if is_precomputed(kernel):
        return "centre K, or choose a narrower kernel", "choose a wider kernel"
    return "centre the features, or choose a narrower kernel", "choose a wider kernel"


def _has_gamma(kernel: Kernel) -> bool:
    parts = (kernel.kernel,) if isinstance(kernel, Repaired) else getattr(kernel, "parts", ())
    return hasattr(kernel, "gamma") or any(_has_gamma(part) for part in parts)


def _not_symmetric(asymmetry: float) -> str:
    return (
        f"not symmetric: entries differ by up to {asymmetry:.3g}; use (K + K') / 2 if that is meant"
    )


def _not_psd(kernel: Kernel, smallest: float) -> str:
    what = f"not positive semidefinite: the smallest eigenvalue is {smallest:.3g}"
    if isinstance(kernel, Repaired):
        return f"{what} before kq.Repaired repairs it by {kernel.repair!r}"
    return f"{what}; use kq.Repaired(kernel, 'clip') or another kernel"
