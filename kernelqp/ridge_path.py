"""Every λ of regularised least squares at once, from one eigendecomposition or SVD.

With A = √S F or K̃ = √S K √S, S = diag(s), projected against √s where the intercept is free, and
K̃ = U diag(e) U', z = U'√S y: for every λ

    √S r = U (λ/(e + λ) z) + (√S y − U z)          residuals r = y − f(x) − b
    h_ii = Σ_k U_ik² e_k/(e_k + λ) (+ s_i/Σ s)     leverage, the diagonal of the hat matrix
    r_i/(1 − h_ii)                                 exactly r_i of the fit without row i
    df = Σ h_ii,   GCV = n Σ s r²/(n − df)²

O(n³) once (O(n r²) for r features), then O(n²) (O(n r)) for each λ.

Source: Golub, Heath & Wahba (1979), Generalized cross-validation, Technometrics 21(2), 215-223;
Allen (1974), Technometrics 16(1), 125-127; Rifkin & Lippert (2007), Notes on regularized least
squares, MIT-CSAIL-TR-2007-025.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from kernelqp.columns import dense
from kernelqp.errors import ParameterError
from kernelqp.roots import monotone_root

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector
    from kernelqp.data import Data
    from kernelqp.gram import Gram

CRITERIA = ("gcv", "leave_one_out")


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class RidgePath:
    """Regularised least squares at L values of λ; row k of every array belongs to ``lams[k]``.

    Attributes
    ----------
    lams : Vector, shape (L,)
        As they were given.
    values : Vector, shape (L,)
        The objective 1/2 Σ s r² + λ/2 ‖f‖².
    coefficients : Matrix, shape (L, n)
        β with f = Σ β_j k(x_j, ·); of the least norm for λ = 0.
    weights : Matrix, shape (L, d), or None
        w, where features are explicit.
    intercepts : Vector, shape (L,)
        b.
    residuals, leave_one_out : Matrix, shape (L, n)
        r, and what it would be at row i of the fit without row i; NaN for rows of weight 0, and
        for a row that nothing else says anything of (leverage 1).
    effective_degrees_of_freedom : Vector, shape (L,)
        The trace of the hat matrix, the intercept included (R's MASS::lm.ridge leaves it out).
    gcv : Vector, shape (L,)
        n Σ s r²/(n − df)².
    leave_one_out_error : Vector, shape (L,)
        Σ s_i (leave_one_out residual)²/Σ s.
    """

    lams: Vector
    values: Vector
    coefficients: Matrix
    weights: Matrix | None
    intercepts: Vector
    residuals: Matrix
    leave_one_out: Matrix
    effective_degrees_of_freedom: Vector
    gcv: Vector
    leave_one_out_error: Vector
    method: Any

    def __repr__(self) -> str:
        lams = f"{self.lams.size} values of lam from {self.lams.min():g} to {self.lams.max():g}"
        return f"<RidgePath: {self.method!r} at {lams}>"

    def best(self, by: str = "leave_one_out") -> Any:
        """Return the method at the λ of the least "leave_one_out" error or "gcv".

        Raises
        ------
        ParameterError
            If ``by`` is neither, or no λ has a finite value of it.
        """
        if by not in CRITERIA:
            raise ParameterError(f"by must be one of {', '.join(CRITERIA)}; got {by!r}")
        values = self.gcv if by == "gcv" else self.leave_one_out_error
        if not np.isfinite(values).any():
            raise ParameterError(f"{by} is defined at no lam: more rows are needed")
        return replace(self.method, lam=float(self.lams[np.nanargmin(values)]))

    def in_rows(self, data: Data, *, penalized: bool) -> RidgePath:
        """Return the same in the caller's rows, a penalised intercept taken out of the weights."""
        beta, weights, b = self.coefficients, self.weights, self.intercepts
        if penalized:
            b = beta.sum(axis=1) if weights is None else weights[:, -1]
            weights = None if weights is None else weights[:, :-1]
        per_row = {
            "coefficients": np.array([data.scatter(row) for row in beta]),
            "residuals": np.array([data.scatter(row, fill=np.nan) for row in self.residuals]),
            "leave_one_out": np.array(
                [data.scatter(row, fill=np.nan) for row in self.leave_one_out]
            ),
        }
        found = replace(self, weights=weights, intercepts=b, **per_row)
        for field in fields(found):
            if isinstance(array := getattr(found, field.name), np.ndarray):
                array.setflags(write=False)
        return found


@dataclass(frozen=True, eq=False, slots=True)
class Spectrum:
    """One decomposition: U, e, z = U'ỹ, what of ỹ = √S y lies outside U, and the leverage of b.

    ``right`` is V of the SVD of A, None for a dense kernel.
    """

    U: Matrix
    e: Vector
    z: Vector
    outside: Vector
    of_intercept: Vector
    right: Matrix | None

    @classmethod
    def of(cls, gram: Gram, y: Vector, s: Vector, *, free: bool) -> Spectrum:
        """Decompose the kernel on the rows in use."""
        root, n = np.sqrt(s), y.size
        q = root / np.sqrt(s.sum()) if free else np.zeros(n)
        gram = gram.centred() if free and not gram.is_sparse else gram
        target = root * y
        target = target - q * (q @ target)
        if gram.factor is not None:
            A = root[:, None] * dense(gram.factor)
            U, sigma, right = scipy.linalg.svd(
                A - np.outer(q, q @ A), full_matrices=False, check_finite=False
            )
            # a null direction of A may lean on q, and says nothing: it is left to ``beyond``
            kept = sigma > max(A.shape) * np.finfo(np.float64).eps * sigma.max(initial=0.0)
            U, e, V = U[:, kept], sigma[kept] ** 2, right[kept].T
        else:
            K = root[:, None] * gram.dense_matrix()
            K *= root
            if free:  # projected against q, which is then moved to the top and dropped
                side = K @ q
                top = 2.0 * float(np.trace(K)) + 1.0
                K += np.outer(q, (q @ side + top) * q - side) - np.outer(side, q)
            # .T is in the order that LAPACK overwrites without a copy
            e, U = scipy.linalg.eigh(K.T, driver="evd", overwrite_a=True, check_finite=False)
            if free:
                e, U = e[:-1], U[:, :-1]
            V = None
        e, z = np.maximum(e, 0.0), U.T @ target
        complete = U.shape[1] + free >= n  # then nothing lies outside but rounding
        outside = np.zeros(n) if complete else target - U @ z
        return cls(U, e, z, outside, q**2, V)

    @property
    def beyond(self) -> Vector:
        """1 − Σ_k U_ik² − s_i/Σ s, the share of row i outside the span; 0 where it is rounding."""
        n, k = self.U.shape
        if k + bool(self.of_intercept.any()) >= n:
            return np.zeros(n)
        share = 1.0 - (self.U**2).sum(axis=1) - self.of_intercept
        return np.where(share > 8 * n * np.finfo(np.float64).eps, share, 0.0)

    def inverse(self, lams: Vector) -> Matrix:
        """Return 1/(e + λ), shape (k, L); for λ = 0 the pseudo-inverse, e of rounding left out."""
        smallest = max(self.U.shape) * np.finfo(np.float64).eps * self.e.max(initial=0.0)
        total = self.e[:, None] + lams
        kept = (self.e[:, None] > smallest) | (lams > 0)
        return np.divide(1.0, total, out=np.zeros_like(total), where=kept)

    def solved(self, lam: float) -> Vector:
        """Return z/(e + λ), shape (k,)."""
        return np.asarray(self.inverse(np.array([lam]))[:, 0] * self.z)

    def weights_at(self, lam: float) -> Vector:
        """Return σ z/(e + λ), shape (k,): w in the basis ``right``."""
        return np.asarray(np.sqrt(self.e) * self.solved(lam))

    def residuals(self, lam: float) -> Vector:
        """Return √S r at λ, shape (n,); λ may be infinite."""
        inverse = self.inverse(np.array([lam]))[:, 0]
        kept = np.where(inverse > 0, lam * inverse, 1.0) if math.isfinite(lam) else 1.0
        return np.asarray(self.U @ (kept * self.z) + self.outside)

    def length(self, lam: float) -> float:
        """Return ‖f_λ‖."""
        return float(np.linalg.norm(self.weights_at(lam)))

    def lam_of_length(self, radius: float) -> float:
        """Return the λ >= 0 with ‖f_λ‖ = R: 0 where ‖f_0‖ <= R, infinite for R = 0."""
        if self.length(0.0) <= radius:
            return 0.0
        if radius == 0.0:
            return math.inf
        # ‖f_λ‖ <= ‖√e z‖/λ; 1/‖f_λ‖ is nearly linear in λ (Moré & Sorensen): secants find its root
        most = float(np.linalg.norm(np.sqrt(self.e) * self.z)) / radius
        return max(monotone_root(lambda t: self._excess(t, radius), most, most), 0.0)

    def _excess(self, lam: float, radius: float) -> float:
        """Return 1/‖f_λ‖ − 1/R, growing with λ; that of 0 for λ < 0."""
        length = self.length(max(lam, 0.0))
        return (1.0 / length if length > 0 else math.inf) - 1.0 / radius


def ridge_path(
    method: Any, gram: Gram, y: Vector, s: Vector, lams: Vector, *, free: bool
) -> RidgePath:
    """Return the path on rows of positive weight; ``free`` says that b is not penalised.

    A penalised intercept is part of ``gram``, and its weight the last one.
    """
    spectrum = Spectrum.of(gram, y, s, free=free)
    root, inverse = np.sqrt(s), spectrum.inverse(lams)
    shrunk = spectrum.e[:, None] * inverse
    U, z = spectrum.U, spectrum.z[:, None]
    kept = np.where(inverse > 0, lams * inverse, 1.0)  # 1 − shrunk, to the last figure
    scaled = U @ (kept * z) + spectrum.outside[:, None]  # √S r, one column a λ
    residuals = scaled / root[:, None]
    spare = U**2 @ kept + spectrum.beyond[:, None]  # 1 − h_ii, summed without cancellation
    left_out = np.divide(residuals, spare, out=np.full_like(spare, np.nan), where=spare > 0)
    df = (U**2 @ shrunk).sum(axis=0) + spectrum.of_intercept.sum()
    squares, freedom = (scaled**2).sum(axis=0), spare.sum(axis=0)
    unspent = np.divide(y.size, freedom, out=np.full_like(freedom, np.nan), where=freedom > 0)
    coefficients, weights = _coefficients(spectrum, inverse, scaled, root, lams)
    b = np.zeros(lams.size)
    if free:
        fitted = gram.matvec(coefficients) if weights is None else gram.inputs @ weights
        b = s @ (y[:, None] - fitted) / s.sum()
    penalty = (shrunk * kept * z**2).sum(axis=0)  # λ ‖f‖²
    return RidgePath(
        lams=lams,
        values=0.5 * (squares + penalty),
        coefficients=coefficients.T,
        weights=None if weights is None else weights.T,
        intercepts=b,
        residuals=residuals.T,
        leave_one_out=left_out.T,
        effective_degrees_of_freedom=df,
        gcv=squares * unspent**2 / y.size,
        leave_one_out_error=s @ left_out**2 / s.sum(),
        method=method,
    )


def _coefficients(
    spectrum: Spectrum, inverse: Matrix, scaled: Matrix, root: Vector, lams: Vector
) -> tuple[Matrix, Matrix | None]:
    """Return β (n, L) and w (r, L): β = s r/λ, and U z/e for λ = 0."""
    solved = inverse * spectrum.z[:, None]
    beta = root[:, None] * scaled / np.where(lams > 0, lams, 1.0)
    if not lams.all():
        beta = np.where(lams > 0, beta, root[:, None] * (spectrum.U @ solved))
    if spectrum.right is None:
        return beta, None
    return beta, spectrum.right @ (np.sqrt(spectrum.e)[:, None] * solved)
