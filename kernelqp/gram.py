"""The Gram matrix K of the training rows, or a thin factor F with K = F F', checked once.

A matrix enters here finite, symmetric and positive semidefinite, or it does not enter: rounding is
let through, real faults are refused with the number that shows them, and nothing is repaired
unless asked. Definiteness is known by construction, or measured: a shifted Cholesky factorisation
first, eigenvalues only when it fails. Memory: one n x n array, a second with `centred()`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import scipy.linalg
import scipy.sparse

from kernelqp._types import Indices, Matrix, Vector
from kernelqp.arrays import EPS, precision_of
from kernelqp.columns import dense, row_norms2, side_by_side
from kernelqp.data import read_features
from kernelqp.errors import KernelError, ParameterError
from kernelqp.exact_sums import sum_of_rows
from kernelqp.kernel_matrix import BLOCK, absolute_row_sums, check_finite, symmetric_matrix
from kernelqp.kernels import Kernel
from kernelqp.repaired import Repaired, is_precomputed


@dataclass(frozen=True, eq=False, repr=False)
class Gram:
    """Symmetric PSD matrix K, shape (n, n), units [k], held dense or as F with K = F F'.

    Build it with `Gram.of`, `Gram.dense` or `Gram.from_factor`. Exactly one of `K` and `factor`
    is not None; both are read-only.

    Parameters
    ----------
    K : Matrix of shape (n, n), or None
        The dense matrix, exactly symmetric.
    factor : Matrix of shape (n, r), or None
        Explicit features F, kept as they are even when r > n.
    psd_by_construction : bool
        The kernel guarantees it, so that nothing was measured.
    repair : str
        "none", "clip" or "shift": what was done to a matrix that was not PSD.
    repair_size : float
        Spectral norm of the change, which is minus the smallest eigenvalue before.
    measured : float or None
        Smallest eigenvalue before any repair, if it was computed.

    Examples
    --------
    >>> gram = Gram.dense([[4.0, -2.0], [-2.0, 1.0]])
    >>> gram.matvec(np.array([1.0, 2.0])), gram.norm2(np.array([1.0, 0.0]))
    (array([0., 0.]), 4.0)
    """

    K: Matrix | None
    factor: Matrix | None
    psd_by_construction: bool = True
    repair: str = "none"
    repair_size: float = 0.0
    measured: float | None = None

    @classmethod
    def of(
        cls, kernel: Kernel, X: Matrix, repair: str | None = None, precision: float = EPS
    ) -> "Gram":
        """Gram matrix of a bound kernel on the rows X; a factor if the features are explicit.

        Parameters
        ----------
        kernel : Kernel
            With numeric parameters: `kernel.bind(X)`.
        X : Matrix, shape (n, d), or (n, n) for a precomputed kernel
            Rows in use, finite.
        repair : "clip", "shift" or None
            What to do with negative eigenvalues beyond rounding: put them to 0, or add their
            size to the diagonal. None refuses. Prediction keeps the kernel as it is.
        precision : float
            Unit roundoff of a precomputed matrix (`Data.precision`).

        Raises
        ------
        KernelError
            If the kernel values are not finite, not symmetric, or not PSD and `repair` is None.
        ParameterError
            If `repair` is something else.
        """
        _check_repair(repair)
        name = "K" if is_precomputed(kernel) else f"kernel {kernel}"
        repair = kernel.repair if isinstance(kernel, Repaired) else repair
        features = kernel.features(X)
        if features is not None:
            return cls.of_features(features, name)
        if kernel.psd and not is_precomputed(kernel) and not isinstance(kernel, Repaired):
            return cls(_read_only(symmetric_matrix(kernel, X)), None)
        K = kernel(X)
        precision = max(precision, precision_of(K))
        return cls._checked(np.asarray(K, np.float64), kernel.psd, name, repair, precision)

    @classmethod
    def dense(
        cls, K: object, psd: bool = False, name: str = "K", repair: str | None = None
    ) -> "Gram":
        """Gram of a copy of the matrix K; `psd=True` if that is known. Raises as `Gram.of`."""
        _check_repair(repair)
        return cls._checked(read_features(K, name=name)[0], psd, name, repair, precision_of(K))

    @classmethod
    def from_factor(cls, F: object) -> "Gram":
        """Gram K = F F' of a copy of the features F, shape (n, r)."""
        return cls.of_features(read_features(F, name="F", keep_sparse=True)[0])

    @classmethod
    def of_features(cls, F: Matrix, name: str = "F") -> "Gram":
        """Gram K = F F' of features as they are: finite float64, read before; not copied."""
        gram = cls(None, _read_only(F))
        check_finite(gram.row_bounds, name)
        return gram

    @classmethod
    def _checked(
        cls, K: Matrix, psd: bool, name: str, repair: str | None, precision: float
    ) -> "Gram":
        if K.shape[0] != K.shape[1]:
            raise KernelError(f"{name} must be square, shape (n, n); got {K.shape}")
        check_finite(absolute_row_sums(K), name)
        K = _symmetric(K, name, precision)
        if psd:
            return cls(_read_only(K), None)
        tolerance = 8 * len(K) * precision
        if _cholesky_succeeds(K, tolerance):
            return cls(_read_only(K), None, psd_by_construction=False)
        return cls._measured(K, name, repair, tolerance)

    @classmethod
    def _measured(cls, K: Matrix, name: str, repair: str | None, tolerance: float) -> "Gram":
        """Judge K by its eigenvalues; repair it if asked."""
        values = scipy.linalg.eigvalsh(K, check_finite=False)
        smallest = float(values[0])
        if smallest >= -tolerance * np.abs(values).max():
            return cls(_read_only(K), None, psd_by_construction=False, measured=smallest)
        if repair is None:
            raise KernelError(
                f"{name} is not positive semidefinite: the smallest eigenvalue of the kernel "
                f"matrix is {smallest:.7g}, the largest {values[-1]:.7g}. Ask for repair='clip' "
                "(negative eigenvalues to 0) or repair='shift' (their size onto the diagonal), for "
                "a method by kernel=kq.Repaired(kernel, 'clip'), or use another kernel"
            )
        K = _clipped(K) if repair == "clip" else K - smallest * np.eye(len(K))
        return cls(_read_only(K), None, False, repair, -smallest, smallest)

    def __repr__(self) -> str:
        kind = "dense" if self.factor is None else f"{self.factor.shape[1]} features"
        return f"<{type(self).__name__}: {self.n} rows, {kind}>"

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self._array.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether F is a sparse array, which stays as it is: it is not centred."""
        return bool(scipy.sparse.issparse(self.factor))

    @property
    def inputs(self) -> Matrix:
        """The explicit features F, shape (n, r); KernelError without any."""
        if self.factor is None:
            raise KernelError("this kernel has no explicit features")
        return self.factor

    @property
    def _array(self) -> Matrix:
        return cast("Matrix", self.K if self.factor is None else self.factor)

    @cached_property
    def min_eigenvalue(self) -> float | None:
        """Smallest eigenvalue before any repair; None when PSD by construction."""
        if self.psd_by_construction or self.measured is not None:
            return self.measured
        return float(scipy.linalg.eigvalsh(self._array, subset_by_index=[0, 0])[0])

    def matvec(self, beta: Vector) -> Vector:
        """K beta, shape (n,) or (n, k) like beta."""
        return self._array @ (beta if self.factor is None else self.factor.T @ beta)

    def exact_matvec(self, beta: Vector) -> Vector | None:
        """K beta of the entries of K as they are, rounded once; None where none are stored."""
        return None if self.K is None else np.add(*sum_of_rows(self.K, beta))

    def inner(self, a: Vector, b: Vector) -> float:
        """Inner product a' K b."""
        if self.factor is None:
            return float(a @ (self._array @ b))
        return float((self.factor.T @ a) @ (self.factor.T @ b))

    def norm2(self, beta: Vector) -> float:
        """Squared norm beta' K beta, never negative."""
        return max(self.inner(beta, beta), 0.0)

    def balanced(self, beta: Vector) -> Vector:  # of another origin it says more
        """Return the beta that sums to 0 with the same f, of a centred kernel."""
        return np.asarray(beta - beta.mean())

    def weights(self, beta: Vector) -> Vector:
        """F' beta, shape (r,); for a factor only."""
        return np.asarray(self.inputs.T @ beta)

    @cached_property
    def diagonal(self) -> Vector:
        """K_ii, shape (n,)."""
        if self.factor is None:
            return _read_only(np.diagonal(self._array).copy())
        return _read_only(row_norms2(self.factor))

    @property
    def summed_diagonal(self) -> Vector:
        """K_ii of the stored matrix that products are summed from: it is what rounds them."""
        return self.diagonal

    @property
    def mean_diagonal(self) -> float:
        """Mean of K_ii, the unit of the kernel."""
        return float(self.diagonal.mean())

    @cached_property
    def row_bounds(self) -> Vector:
        """A majorant h, shape (n,), with diag(h) - K PSD and h_i >= sum_j |K_ij|.

        Dense: the row sums themselves. Factor: |F_i| sum_j |F_j|.
        """
        if self.factor is None:
            return _read_only(absolute_row_sums(self._array))
        with np.errstate(all="ignore"):
            norms = np.sqrt(self.diagonal)
            return _read_only(norms * norms.sum())

    def submatrix(self, rows: Indices, cols: Indices | None = None) -> Matrix:
        """K[rows][:, cols] as a new dense matrix; `cols` are the same as `rows` when omitted."""
        cols = rows if cols is None else cols
        if self.factor is None:
            return self._array[np.ix_(rows, cols)]
        return dense(self.factor[rows] @ self.factor[cols].T)

    def dense_matrix(self) -> Matrix:
        """K, shape (n, n); for a factor F F' is formed at each call."""
        return self._array if self.factor is None else dense(self.factor @ self.factor.T)

    def whole(self) -> "Gram":
        """Return the same with K formed, where there is one to form."""
        return self

    def value_at_origin(self, values: Vector) -> float:
        """Return what `centred` takes off an f of these values: its mean over the rows."""
        return float(values.mean())

    def centred(self) -> "Gram":
        """H K H with H = I - 11'/n; kept after the first call.

        A constant feature, or a constant matrix, gives exactly 0: means are taken of differences
        to the first row.
        """
        return self._centred

    @cached_property
    def _centred(self) -> "Gram":
        if self.is_sparse:
            raise KernelError("centring fills a sparse factor: make X dense")
        if self.factor is None:
            from kernelqp.centred_gram import centred_gram  # is a Gram itself

            return centred_gram(self)
        return self._with(_centred_rows(self._array))

    def scaled(self, t: float) -> "Gram":
        """Return t K (for a factor sqrt(t) F), t > 0."""
        if not 0 < t < np.inf:
            raise ParameterError(f"t must be finite and > 0; got {t!r}")
        return self._with(self._array * (t if self.factor is None else np.sqrt(t)))

    def plus_constant(self, c: float = 1.0) -> "Gram":
        """K + c 11' (a column sqrt(c) more in F), c >= 0: the kernel of a penalised intercept."""
        if not 0 <= c < np.inf:
            raise ParameterError(f"c must be finite and >= 0; got {c!r}")
        if self.factor is None:
            return self._with(self._array + c)
        return self._with(side_by_side(self.factor, np.full((self.n, 1), np.sqrt(c))))

    def thin_factor(self) -> Matrix:
        """F, shape (n, r), with K = F F' to rounding; kept after the first call.

        Dense: from the eigenvalues above 8 n eps times the largest, at least one column.
        """
        return self._thin_factor

    @cached_property
    def _thin_factor(self) -> Matrix:
        if self.factor is not None:
            return self.factor
        values, vectors = scipy.linalg.eigh(self._array, check_finite=False)
        keep = values > 8 * self.n * EPS * values[-1]
        keep[-1] = True
        return _read_only(vectors[:, keep] * np.sqrt(np.maximum(values[keep], 0.0)))

    def _with(self, array: Matrix) -> "Gram":
        """Return the Gram of a matrix or factor derived from this one."""
        array = _read_only(array)
        K, factor = (array, None) if self.factor is None else (None, array)
        return Gram(K, factor, self.psd_by_construction, self.repair, self.repair_size)


def _read_only(array: Matrix) -> Matrix:
    if scipy.sparse.issparse(array):
        return array
    array = array.view()
    array.setflags(write=False)
    return array


def _check_repair(repair: str | None) -> None:
    if repair not in {None, "clip", "shift"}:
        raise ParameterError(f"repair must be 'clip', 'shift' or None; got {repair!r}")


def _symmetric(K: Matrix, name: str, precision: float) -> Matrix:
    """K if exactly symmetric, (K + K') / 2 if up to rounding, else an error."""
    worst, at = 0.0, (0, 0)
    for start in range(0, len(K), BLOCK):
        gap = np.abs(K[start : start + BLOCK] - K[:, start : start + BLOCK].T)
        i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
        if gap[i, j] > worst:
            worst, at = float(gap[i, j]), (start + int(i), int(j))
    if worst == 0.0:
        return K
    if worst > 8 * len(K) * precision * np.abs(K).max():
        raise KernelError(
            f"{name} is not symmetric: entries {at} and {at[::-1]} differ by {worst:.6g}; "
            "pass (K + K.T) / 2 if that is meant"
        )
    return 0.5 * K + 0.5 * K.T


def _cholesky_succeeds(K: Matrix, tolerance: float) -> bool:
    """Whether K + shift I is positive definite, shift = tolerance * (estimate of |K|_2)."""
    shifted = K.copy()
    shifted.flat[:: len(K) + 1] += tolerance * _norm_estimate(K)
    try:
        scipy.linalg.cholesky(shifted.T, lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return False
    return True


def _norm_estimate(K: Matrix) -> float:
    """Estimate |K|_2 from below by a few power steps, so that the shift is never too large."""
    v = absolute_row_sums(K)
    estimate = 0.0
    for _ in range(4):
        size = float(scipy.linalg.norm(v))
        if size == 0:
            break
        v = K @ (v / size)
        estimate = max(estimate, float(scipy.linalg.norm(v)))
    return estimate


def _clipped(K: Matrix) -> Matrix:
    values, vectors = scipy.linalg.eigh(K, check_finite=False)
    half: Matrix = vectors * np.sqrt(np.maximum(values, 0.0))
    return half @ half.T


def _centred_rows(F: Matrix) -> Matrix:
    """F minus its column means, in two passes: a constant column is exactly 0."""
    mean = np.full(len(F), 1.0 / len(F))
    G: Matrix = F - (F[0] + mean @ (F - F[0]))  # F[0] may stand far from all others
    G -= mean @ G
    return G


def centred_dense(K: Matrix) -> Matrix:
    """K_ij - (r_i + r_j - m) in one new array: exactly symmetric, exactly 0 for constant K.

    A diagonal that is rounding of K throughout is 0 as well: it has no size to divide by.
    """
    out: Matrix = K - K[:, :1]
    r = K[:, 0] + out.mean(axis=1)
    m = r[0] + (r - r[0]).mean()
    np.add(r[:, None], r, out=out)
    out -= m
    np.subtract(K, out, out=out)
    diagonal = np.maximum(out.diagonal(), 0.0)
    if diagonal.mean() <= 8 * EPS * np.abs(K.diagonal()).max():
        out[:] = 0.0
    else:
        np.fill_diagonal(out, diagonal)
    return out
