"""Kernel logistic regression by Newton's method, against the same primal through CLARABEL."""

import time
from statistics import median

from benchmarks.datasets import breast_cancer
from benchmarks.record import show, store
from kernelqp import RBF, LogisticRegression

RUNS = 3


def timed(call):
    """Return what a call gives and its seconds."""
    started = time.perf_counter()
    found = call()
    return found, time.perf_counter() - started


def main():
    """Measure from X and y to a certified solution, both ways, one after the other."""
    X, y, gamma = breast_cancer()
    method = LogisticRegression(C=1.0, kernel=RBF(gamma=gamma))

    def newton():
        return method.solve(X, y, solver="native")

    def clarabel():
        return method.primal(X, y, form="coefficients").solve(solver="CLARABEL")

    newton()  # the first call in a process loads libraries
    ours, theirs = [], []
    for _ in range(RUNS):
        fast, seconds = timed(newton)
        ours.append(seconds)
        slow, seconds = timed(clarabel)
        theirs.append(seconds)
    assert fast.certificate.certified
    assert slow.certificate.certified
    row = {
        "n": len(y),
        "newton_seconds": median(ours),
        "clarabel_seconds": median(theirs),
        "ratio": median(b / a for a, b in zip(ours, theirs, strict=True)),
        "newton_value": fast.value,
        "clarabel_value": slow.value,
        "newton_gap": fast.certificate.relative_gap,
        "clarabel_gap": slow.certificate.relative_gap,
    }
    show([row])
    differ = abs(fast.value - slow.value) / slow.value
    store(
        "logistic",
        [row],
        f"kernel logistic regression on {len(y)} rows, certified: Newton's method "
        f"{row['ratio']:.0f} times faster than the same primal through CLARABEL "
        f"(medians of {RUNS}, values within {differ:.0e})",
    )


if __name__ == "__main__":
    main()
