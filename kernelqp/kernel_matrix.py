"""Distances, and the symmetric matrix of a kernel in tiles, on all cores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist
from threadpoolctl import ThreadpoolController

from kernelqp.errors import KernelError

if TYPE_CHECKING:
    from kernelqp._types import Matrix
    from kernelqp.kernels import Kernel

TILE = 512  # rows and columns of a tile: 2 MB
SMALL = 256  # rows up to which one call is as fast, and differences cost nothing
NEAR = 200.0  # γ (|x|² + |z|²) up to which products of coordinates give γ |x − z|² to about 1e-13


def square_distances(X: Matrix, Z: Matrix, gamma: float) -> Matrix:
    """Return |x_i − z_j|², shape (n, m), as exactly as γ |x − z|² is needed.

    |x|² + |z|² − 2 x'z about the mean of Z is several times faster than differences, and loses
    figures only of points that lie far out in units of 1/√γ: these are left to differences, and so
    are few points, whose duplicates are then exactly so.
    """
    if len(X) * len(Z) <= SMALL**2:
        return np.asarray(cdist(X, Z, "sqeuclidean"))
    centre = Z.mean(axis=0)
    x, z = X - centre, Z - centre
    x2, z2 = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", z, z)
    if not gamma * (x2.max(initial=0.0) + z2.max(initial=0.0)) <= NEAR:
        return np.asarray(cdist(X, Z, "sqeuclidean"))
    distances = x @ z.T
    distances *= -2.0
    distances += x2[:, None]
    distances += z2
    return np.asarray(np.maximum(distances, 0.0, out=distances))


def city_distances(X: Matrix, Z: Matrix, gamma: float) -> Matrix:  # noqa: ARG001  # exact in any unit
    """Return Σ_k |x_ik − z_jk|, shape (n, m)."""
    return np.asarray(cdist(X, Z, "cityblock"))


def symmetric_matrix(kernel: Kernel, X: Matrix) -> Matrix:
    """Return K of a kernel that is PSD by construction, exactly symmetric.

    Raises
    ------
    KernelError
        If an entry is not finite.
    """
    n = len(X)
    if n <= SMALL:
        K = np.asarray(kernel(X), dtype=np.float64)
        _check_finite(K, kernel)
        lower = np.tril_indices(n, -1)
        K[lower] = K.T[lower]
        return K
    K = np.empty((n, n))
    starts = range(0, n, TILE)
    tiles = [(i, j) for i in starts for j in starts if j >= i]

    def fill(tile: tuple[int, int]) -> None:
        i, j = tile
        block = np.asarray(kernel(X[i : i + TILE], X[j : j + TILE]), dtype=np.float64)
        _check_finite(block, kernel)
        if i == j:
            block = np.triu(block, 1)
            block += block.T
            np.fill_diagonal(block, kernel.diagonal(X[i : i + TILE]))
        else:
            K[j : j + TILE, i : i + TILE] = block.T
        K[i : i + TILE, j : j + TILE] = block

    with _blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, tiles))
    return K


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    """Return what holds BLAS to one thread while the tiles have the cores: they would contend."""
    return ThreadpoolController()


def _check_finite(block: Matrix, kernel: Kernel) -> None:
    """Raise KernelError unless a block is finite: a sum tells, and is cheap."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(block.sum())
    if not finite and not np.isfinite(block).all():
        raise KernelError(
            f"kernel {kernel} is not finite: overflow or nan in the kernel matrix, from finite "
            f"input: scale the features, or lower the degree or gamma"
        )
