"""Data and fitted models: what the tests of foreign models certify."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

N = 50


def fit(model, X, y, sample_weight=None):
    """Fit; a solver that stops early is wanted here, so its warning is not an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        prefix = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
        given = {} if sample_weight is None else {f"{prefix}sample_weight": sample_weight}
        return model.fit(X, y, **given)


def features(n=N, d=3, seed=0):
    """Far enough from the origin that a penalised intercept is another problem than a free one."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * [1.0, 0.5, 2.0][:d] + [0.8, -0.6, 1.5][:d]


def two_classes(X, seed=1):
    """Overlapping, and more 0 than 1."""
    noise = np.random.default_rng(seed).normal(size=len(X))
    return np.where(X[:, 0] - 0.4 * X[:, 2] + 0.8 * noise > 0.6, 1, 0)


def three_classes(X, seed=2):
    noise = np.random.default_rng(seed).normal(size=len(X))
    return np.digitize(X[:, 0] + 0.3 * X[:, 2] + 0.6 * noise, [0.7, 1.7])


def targets(X, seed=3):
    noise = np.random.default_rng(seed).normal(size=len(X))
    return 3.0 + X @ [1.5, -2.0, 0.7][: X.shape[1]] + 0.7 * noise


def weights(n=N, seed=4):
    """0 to 3, a quarter of them 0, not all whole numbers."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, n) * rng.choice([0.5, 1.0], n)


def placed(model, problems):
    """Put a linear model at the optimum of its hand-written problem: the tightest of all fits."""
    found = [problem.solve() for problem in problems]
    model.coef_ = np.array([w for _, w, _ in found]).reshape(np.shape(model.coef_))
    model.intercept_ = np.array([b for *_, b in found])
    return model
