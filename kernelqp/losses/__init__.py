"""Losses: one-dimensional convex analysis, in NumPy and in cvxpy.

`LOSSES` is the registry: a loss that is not in it does not exist for the tests and the methods.
"""

from kernelqp.losses.base import Loss, Row
from kernelqp.losses.curved import Logistic, PowerHinge
from kernelqp.losses.margin import HardMargin, Hinge, Perceptron, SquaredHinge
from kernelqp.losses.residual import HalfSquared, Huber, Pinball
from kernelqp.losses.tube import EpsilonInsensitive, SquaredEpsilonInsensitive

LOSSES: tuple[type[Loss], ...] = (
    Hinge,
    HardMargin,
    SquaredHinge,
    PowerHinge,
    Perceptron,
    Logistic,
    HalfSquared,
    EpsilonInsensitive,
    SquaredEpsilonInsensitive,
    Pinball,
    Huber,
)

__all__ = [
    "LOSSES",
    "EpsilonInsensitive",
    "HalfSquared",
    "HardMargin",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Perceptron",
    "Pinball",
    "PowerHinge",
    "Row",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
]
