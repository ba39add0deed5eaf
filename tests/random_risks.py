"""Random kernel QPs, degenerate on purpose: duplicates, singular and constant kernels, any C."""

import numpy as np

import kernelqp as kq
from kernelqp import losses

KERNELS = {
    "rbf": lambda X, rng: kq.RBF(gamma=float(10.0 ** rng.uniform(-3, 1)))(X),
    "laplacian": lambda X, _: kq.Laplacian(gamma=1.0)(X),
    "polynomial": lambda X, _: kq.Polynomial(2, 1.0, 1.0)(X),
    "linear": lambda X, _: X @ X.T,
    "identity": lambda X, _: np.eye(len(X)),
    "zero": lambda X, _: np.zeros((len(X), len(X))),
    "constant": lambda X, _: np.ones((len(X), len(X))),
}
LOSSES = {
    "hinge": losses.Hinge(),
    "squared hinge": losses.SquaredHinge(),
    "tube": losses.EpsilonInsensitive(0.3),
    "absolute": losses.EpsilonInsensitive(0.0),
    "squared tube": losses.SquaredEpsilonInsensitive(0.3),
    "low quantile": losses.Pinball(0.01),
    "median": losses.Pinball(0.5),
    "high quantile": losses.Pinball(0.9),
    "huber": losses.Huber(0.5),
}
SIZES = (1, 2, 3, 5, 10, 40, 90)
PRICES = (1e-9, 1e-4, 0.1, 1.0, 10.0, 100.0, 1e4, 1e6, 1e9, 1e12)


def random_risk(seed, prices=PRICES):
    """Return a risk and its name."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice(SIZES))
    X = rng.normal(size=(n, 3))
    if rng.random() < 0.4:  # duplicates
        X = X[rng.integers(0, max(1, n // 3), n)]
    if rng.random() < 0.2:  # ties
        X = np.round(X)
    kernel, loss = str(rng.choice(list(KERNELS))), str(rng.choice(list(LOSSES)))
    K = KERNELS[kernel](X, rng)
    found, C = LOSSES[loss], float(rng.choice(prices))
    y = np.sign(rng.normal(size=n))
    if not found.margin:
        y = rng.normal(size=n) * 10.0 ** rng.choice([-3, 0, 3])
        y = np.round(y) if rng.random() < 0.2 else y
    costs = C * (rng.uniform(0.5, 2.0, n) if rng.random() < 0.5 else np.ones(n))
    offset = str(rng.choice(["free", "none"]))
    gram = kq.Gram.dense(np.asarray((K + K.T) / 2), psd=True)
    name = f"{seed}: {loss}, {kernel}, n = {n}, C = {C:g}, offset {offset}"
    return kq.RegularizedRisk(gram, y, costs, found, offset), name


def known_to(risk, beta, certificate):
    """What P − D is known to: the rounding of D, and of predictions K β at the price of their rows.

    A prediction is a sum of terms of size |K_ij β_j|, so it is known to eps times their sum.
    """
    root = np.sqrt(risk.gram.diagonal)
    sums = root * float(np.abs(beta) @ root) + np.abs(risk.targets)
    return certificate.rounding + 4.0 * np.finfo(float).eps * float(risk.costs @ sums)
