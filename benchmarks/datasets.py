"""Data that scikit-learn ships or makes, standardised by the n standard deviation."""

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_classification,
    make_regression,
)


def standardise(X):
    """Return (X − mean)/std, constant columns left at 0."""
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)


def breast_cancer():
    """569 rows, 30 features, gamma 1/30."""
    X, y = load_breast_cancer(return_X_y=True)
    return standardise(X), y, 1 / 30


def digits():
    """1797 rows, 64 features, 5-9 against 0-4, gamma 1/64."""
    X, y = load_digits(return_X_y=True)
    return standardise(X), (y >= 5).astype(int), 1 / 64


def made(n):
    """Return n rows with 10 features and 5 % flipped labels, gamma 1/10."""
    X, y = make_classification(
        n_samples=n, n_features=10, n_informative=5, flip_y=0.05, random_state=0
    )
    return standardise(X), y, 1 / 10


def clusters(n):
    """Return n rows with 40 features, 8 clusters a class and 5 % flipped labels, gamma 1/40."""
    X, y = make_classification(
        n_samples=n,
        n_features=40,
        n_informative=20,
        n_clusters_per_class=8,
        flip_y=0.05,
        random_state=0,
    )
    return standardise(X), y, 1 / 40


def diabetes():
    """442 rows, 10 features, real targets, gamma 1/10."""
    X, y = load_diabetes(return_X_y=True)
    return standardise(X), y, 1 / 10


def surface(n):
    """Return n rows with 10 features and real targets, gamma 1/10."""
    X, y = make_regression(n_samples=n, n_features=10, noise=10.0, random_state=0)
    return standardise(X), y, 1 / 10
