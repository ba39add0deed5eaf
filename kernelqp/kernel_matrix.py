"""Distances, and the symmetric matrix of a kernel, or rows of it, in tiles on all cores."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

from kernelqp.errors import KernelError
from kernelqp.threads import on_all_cores

if TYPE_CHECKING:
    from kernelqp._types import Indices, Matrix, Vector
    from kernelqp.kernels import Kernel

TILE = 512  # rows and columns of a tile: 2 MB
BLOCK = 256  # rows at a time where an n x n temporary would be needed
HIGH, WIDE = 128, 2048  # rows and columns of a tile of a few rows
STRIP = 64  # rows that are mirrored at a time
SMALL = 256  # rows up to which one call is as fast, and differences cost nothing
NEAR = 200.0  # γ (|x|² + |z|²) up to which products of coordinates give γ |x − z|² to about 1e-13


class SquareDistances:
    """−γ |x − z_j|² from the points z_j.

    |x|² + |z|² − 2 x'z about the mean of the z_j, one product of matrices with two columns more, is
    several times faster than differences, and loses figures only of points that lie far out in
    units of 1/√γ: these are left to differences, and so are few points, whose duplicates are then
    exactly so.
    """

    def __init__(self, Z: Matrix, gamma: float) -> None:
        self._Z, self._gamma = Z, gamma

    @cached_property
    def _prepared(self) -> tuple[Vector, Matrix, float]:
        """The mean, [z, 1, |z|²] about it, and the largest |z|²."""
        centre = self._Z.mean(axis=0)
        z = self._Z - centre
        norms = np.einsum("ij,ij->i", z, z)
        return centre, np.column_stack([z, np.ones(len(z)), norms]), float(norms.max(initial=0.0))

    def exponents(self, X: Matrix, out: Matrix | None = None) -> Matrix:
        """Return −γ |x_i − z_j|², shape (n, m), in ``out`` if given."""
        if max(len(X), len(self._Z)) > SMALL:
            centre, known, farthest = self._prepared
            x = X - centre
            norms = np.einsum("ij,ij->i", x, x)
            if self._gamma * (norms.max(initial=0.0) + farthest) <= NEAR:
                own = -self._gamma * np.column_stack([-2.0 * x, norms, np.ones(len(x))])
                found = np.matmul(own, known.T, out=out)
                return np.asarray(np.minimum(found, 0.0, out=found))
        found = cdist(X, self._Z, "sqeuclidean")
        return np.asarray(np.multiply(found, -self._gamma, out=out))


class CityDistances:
    """−γ Σ_k |x_k − z_jk| from the points z_j: exact in any unit."""

    def __init__(self, Z: Matrix, gamma: float) -> None:
        self._Z, self._gamma = Z, gamma

    def exponents(self, X: Matrix, out: Matrix | None = None) -> Matrix:
        """Return −γ Σ_k |x_ik − z_jk|, shape (n, m), in ``out`` if given."""
        found = cdist(X, self._Z, "cityblock")
        return np.asarray(np.multiply(found, -self._gamma, out=out))


def symmetric_matrix(kernel: Kernel, X: Matrix, room: Matrix | None = None) -> Matrix:
    """Return K of a kernel that is PSD by construction, exactly symmetric; in ``room`` if given.

    Raises
    ------
    KernelError
        If an entry is not finite.
    """
    n = len(X)
    if n <= TILE and room is None:
        return _tile(kernel, X, X)
    K = np.empty((n, n)) if room is None else room
    starts = range(0, n, TILE)

    def fill(tile: tuple[int, int]) -> None:
        i, j = tile
        rows = X[i : i + TILE]
        block = _tile(kernel, rows, rows if i == j else X[j : j + TILE])
        K[i : i + TILE, j : j + TILE] = block
        if i != j:
            K[j : j + TILE, i : i + TILE] = block.T

    on_all_cores(fill, [(i, j) for i in starts for j in starts if j >= i])
    return K


def _tile(kernel: Kernel, X: Matrix, Z: Matrix) -> Matrix:
    """Return k(X, Z), a new array; of X with itself exactly symmetric, with the exact diagonal."""
    block = np.asarray(kernel(X, Z), dtype=np.float64)
    _check_finite(block, kernel)
    if X is Z:
        mirror(block)
        np.fill_diagonal(block, kernel.diagonal(X))
    return block


def mirror(K: Matrix) -> None:
    """Copy what is above the diagonal to below it, in place and strip by strip."""
    for i in range(0, len(K), STRIP):
        strip = slice(i, i + STRIP)
        corner = K[strip, strip]
        corner[:] = np.where(np.tri(len(corner), k=-1, dtype=bool), corner.T, corner)
        K[i + STRIP :, strip] = K[strip, i + STRIP :].T


class RowsOf:
    """Rows of K for a kernel on the rows of X, as many at a time as are asked for."""

    def __init__(self, kernel: Kernel, X: Matrix) -> None:
        self._kernel, self._X = kernel, X
        starts = range(0, len(X), WIDE)
        self._parts = [(slice(j, j + WIDE), kernel.against(X[j : j + WIDE])) for j in starts]

    def fill(self, rows: Indices, out: Matrix) -> None:
        """Write K of some rows, shape (len(rows), n), with the exact diagonal.

        Raises
        ------
        KernelError
            If an entry is not finite.
        """
        points = self._X[rows]

        def fill(tile: tuple[int, int]) -> None:
            i, (columns, against) = tile[0], self._parts[tile[1]]
            place = out[i : i + HIGH, columns]
            against(points[i : i + HIGH], place)
            _check_finite(place, self._kernel)

        heights = range(0, len(rows), HIGH)
        on_all_cores(fill, [(i, part) for i in heights for part in range(len(self._parts))])
        out[np.arange(len(rows)), rows] = self._kernel.diagonal(points)


def _check_finite(block: Matrix, kernel: Kernel) -> None:
    """Raise KernelError unless a block is finite: a sum tells, and is cheap."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(block.sum())
    if not finite and not np.isfinite(block).all():
        raise KernelError(
            f"kernel {kernel} is not finite: overflow or nan in the kernel matrix, from finite "
            f"input: scale the features, or lower the degree or gamma"
        )


def check_finite(row_sums: Vector, name: str) -> None:
    """Raise KernelError that names the kernel and the first row that is not finite."""
    finite = np.isfinite(row_sums)
    if not finite.all():
        raise KernelError(
            f"{name} is not finite: overflow or nan in row {int(np.argmin(finite))} of the kernel "
            "matrix, from finite input: scale the features, or lower the degree or gamma"
        )


def absolute_row_sums(K: Matrix) -> Vector:
    """Return sum_j |K_ij|, shape (n,), without a second matrix."""
    with np.errstate(all="ignore"):
        blocks = [np.abs(K[i : i + BLOCK]).sum(axis=1) for i in range(0, len(K), BLOCK)]
    return np.concatenate(blocks)
