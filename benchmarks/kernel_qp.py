"""Kernel machines by our own engine against scikit-learn and cvxpy: seconds and certified gaps."""

import time
from statistics import median

import numpy as np
from sklearn.svm import SVC, SVR

import kernelqp as kq
from benchmarks.datasets import breast_cancer, clusters, diabetes, digits, surface
from benchmarks.record import show, store

RUNS = 3


def first(data, n):
    X, y, gamma = data
    return X[:n], y[:n], gamma


def timed(call):
    started = time.perf_counter()
    found = call()
    return time.perf_counter() - started, found


def machine(gamma, C):
    """Our solve and scikit-learn's fit of an RBF SVM, at its default and at a tight tolerance."""
    ours = kq.SoftMarginSVM(C=C, kernel=kq.RBF(gamma=gamma))
    return ours, [SVC(C=C, gamma=gamma), SVC(C=C, gamma=gamma, tol=1e-8)]


def regression(gamma, C):
    ours = kq.SupportVectorRegression(C=C, epsilon=0.1, kernel=kq.RBF(gamma=gamma))
    theirs = {"C": C, "epsilon": 0.1, "gamma": gamma}
    return ours, [SVR(**theirs), SVR(**theirs, tol=1e-8)]


def against_scikit_learn(name, data, build, C, target):
    """Seconds and certified relative gaps, in turn, medians of RUNS."""
    X, y, gamma = data
    ours, theirs = build(gamma, C)
    seconds = {"ours": [], "default": [], "tight": []}
    for _ in range(RUNS):
        for label, model in zip(("default", "tight"), theirs, strict=True):
            seconds[label].append(timed(lambda model=model: model.fit(X, y))[0])
        took, solution = timed(lambda: ours.solve(X, y))
        seconds["ours"].append(took)
    medians = {label: median(values) for label, values in seconds.items()}
    gaps = {"ours": solution.certificate.relative_gap}
    if len(y) <= 4000:
        for label, model in zip(("default", "tight"), theirs, strict=True):
            gaps[label] = kq.certify(model, X, y).relative_gap
    ratios = [o / d for o, d in zip(seconds["ours"], seconds["default"], strict=True)]
    return {
        "work": name,
        "n": len(y),
        "C": C,
        "seconds": medians,
        "relative_gap": gaps,
        "ratio": median(ratios),
        "target": target,
        "solver": solution.solver,
        "support_vectors": len(solution.support.support_vectors),
    }


def quantiles_against_cvxpy():
    """Nine levels of kernel quantile regression, each through the best of two cvxpy solvers."""
    X, y, gamma = diabetes()
    seconds = {"ours": 0.0, "CLARABEL": 0.0, "OSQP": 0.0}
    gaps = dict.fromkeys(seconds, 0.0)
    for tau in np.arange(1, 10) / 10:
        method = kq.QuantileRegression(C=10.0, tau=float(tau), kernel=kq.RBF(gamma=gamma))
        for label in seconds:
            solver = "native" if label == "ours" else label
            took, s = timed(lambda m=method, name=solver: m.solve(X, y, solver=name))
            seconds[label] += took
            gaps[label] = max(gaps[label], s.certificate.relative_gap)
    best = min(seconds["CLARABEL"], seconds["OSQP"])
    return {
        "work": "kernel quantile, diabetes, nine levels, against the better of CLARABEL and OSQP",
        "n": len(y),
        "seconds": seconds,
        "relative_gap": gaps,
        "ratio": seconds["ours"] / best,
        "target": 0.1,
        "solver": "native",
    }


def main():
    kq.SoftMarginSVM(kernel="rbf").solve([[0.0], [1.0], [2.0]], [0, 1, 1])  # imports
    few = first(breast_cancer(), 100)
    rows = [
        against_scikit_learn("RBF SVM, digits, C = 1", digits(), machine, 1.0, 1.0),
        against_scikit_learn("RBF SVM, digits, C = 100", digits(), machine, 100.0, 1.0),
        against_scikit_learn("RBF SVM, clusters, C = 1", clusters(4000), machine, 1.0, 0.5),
        against_scikit_learn("RBF SVM, clusters, C = 1", clusters(10_000), machine, 1.0, 0.5),
        against_scikit_learn("RBF SVM, clusters, C = 100", clusters(10_000), machine, 100.0, 1.0),
        against_scikit_learn("epsilon-SVR, diabetes", diabetes(), regression, 10.0, 0.7),
        against_scikit_learn("epsilon-SVR, surface", surface(5000), regression, 10.0, 0.7),
        against_scikit_learn("RBF SVM, breast_cancer", breast_cancer(), machine, 1.0, 2.0),
        against_scikit_learn("RBF SVM, breast_cancer", few, machine, 1.0, 5.0),
        quantiles_against_cvxpy(),
    ]
    show(
        [
            {"n": row["n"], "C": row.get("C", 10.0), "ratio": row["ratio"], "target": row["target"]}
            | {"ours s": row["seconds"]["ours"]}
            | {"theirs s": min(v for k, v in row["seconds"].items() if k not in ("ours", "tight"))}
            | {"gap": row["relative_gap"]["ours"], "work": row["work"]}
            for row in rows
        ]
    )
    worst = max(row["relative_gap"]["ours"] for row in rows)
    listed = "; ".join(f"{row['work']}, n = {row['n']}: {row['ratio']:.2g}" for row in rows)
    store(
        "kernel_qp",
        rows,
        f"seconds of a certified solve (relative gap at most {worst:.0e}) over those of "
        f"scikit-learn's fit at its default tolerance, medians of {RUNS} in one run: {listed}",
    )


if __name__ == "__main__":
    main()
