"""The data and the variants that Pegasos is tested on."""

import numpy as np
import pytest

import kernelqp as kq

RNG = np.random.default_rng(4)
N = 40
Y = np.resize([1, -1], N)
X = RNG.normal(size=(N, 3)) + 0.7 * np.c_[Y, Y, np.zeros(N)]
WEIGHTS = RNG.integers(0, 3, N).astype(float)
KERNELS = {"linear": kq.Linear(), "rbf": kq.RBF(gamma=0.5), "polynomial": kq.Polynomial(2, 0.5, 1)}
INTERCEPTS = ("none", "penalized")
VARIANTS = {
    "single": {},
    "batch": {"batch": 7},
    "full": {"batch": "full"},
    "project": {"project": True},
    "average": {"average": True},
    "batch, project, average": {"batch": 6, "project": True, "average": True},
    "full, project, average": {"batch": "full", "project": True, "average": True},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
weighted = pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])


def method(kernel="linear", intercept="none", lam=0.05, **more):
    return kq.Pegasos(lam=lam, kernel=KERNELS[kernel], intercept=intercept, **more)


def optimum(m, s=None, data=(X, Y)):
    return m.solve(*data, s, form="dual", solver="CLARABEL", tol=1e-9).value
