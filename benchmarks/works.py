"""One problem in everybody's words: the data, our method, and scikit-learn's parameters."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import kernelqp as kq
from kernelqp.certificate import Candidate, certify_candidate

TOL = 1e-9  # the relative gap that an exact answer has


@dataclass(frozen=True, eq=False)
class Work:
    """A kernel QP.

    ``model`` is the name of scikit-learn's class for it, None where there is none, and
    ``parameters`` are what that class is given.
    """

    name: str
    method: Any
    X: np.ndarray
    y: np.ndarray
    gamma: float
    model: str | None = None
    parameters: dict | None = None

    @property
    def n(self):
        return len(self.y)

    @cached_property
    def risk(self):
        """The engine's problem, by which answers are judged."""
        return self.method.dual(self.X, self.y).risk()

    def gap(self, beta):
        """Return the relative gap that β proves by itself: made feasible, and nothing more.

        ``near=0`` leaves out the elbow solve, which would make our answer of somebody else's.
        """
        verdict = certify_candidate(self.risk.centred, Candidate(beta=beta), "dual", TOL, near=0.0)
        return verdict.certificate.relative_gap


def first(data, n):
    X, y, gamma = data
    return X[:n], y[:n], gamma


def machine(data, C, name):
    """Return an RBF SVM."""
    X, y, gamma = data
    method = kq.SoftMarginSVM(C=C, kernel=kq.RBF(gamma=gamma))
    return Work(name, method, X, y, gamma, "SVC", {"C": C, "gamma": gamma})


def regression(data, C, name):
    """Return an ε-SVR with ε = 0.1."""
    X, y, gamma = data
    method = kq.SupportVectorRegression(C=C, epsilon=0.1, kernel=kq.RBF(gamma=gamma))
    return Work(name, method, X, y, gamma, "SVR", {"C": C, "epsilon": 0.1, "gamma": gamma})


def quantile(data, C, tau, name):
    """Return kernel quantile regression at one level."""
    X, y, gamma = data
    return Work(name, kq.QuantileRegression(C=C, tau=tau, kernel=kq.RBF(gamma=gamma)), X, y, gamma)
