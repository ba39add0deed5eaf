"""Data that scikit-learn ships or makes, standardised by the n standard deviation."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification


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
