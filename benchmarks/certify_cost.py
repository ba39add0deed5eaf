"""Certifying models that others fitted: seconds over those of the fit, and memory."""

import json
import subprocess
import sys
import time
import warnings
from functools import partial
from statistics import median

from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from benchmarks.record import show, store
from kernelqp import certify

RUNS = 3
MANY = 15  # runs of a fit that is a trifle: how far one of liblinear's gets depends on its seed
SHOWN = ("n", "fit_seconds", "certify_seconds", "ratio", "converged", "model")
LONG = 0.1  # seconds of a fit that is no trifle
LARGE = """
import json, time
from pathlib import Path
from sklearn.svm import SVC
import kernelqp as kq
from benchmarks.certify_cost import clusters
X, y = clusters(20_000)
started = time.perf_counter()
model = SVC(gamma=1 / 40).fit(X, y)
fitted = time.perf_counter()
found = kq.certify(model, X, y)
ended = time.perf_counter()
status = Path("/proc/self/status").read_text().split()  # getrusage would count the parent's too
peak = int(status[status.index("VmHWM:") + 1]) / 2**20
row = {"fit_seconds": fitted - started, "certify_seconds": ended - fitted, "peak_GiB": peak}
print(json.dumps(row | {"relative_gap": found.relative_gap, "converged": found.certified}))
"""


def scaled(X):
    return StandardScaler().fit_transform(X)


def clusters(n):
    """Return the classification problem of 40 features that is hard to separate."""
    X, y = make_classification(
        n, 40, n_informative=20, n_clusters_per_class=8, flip_y=0.05, random_state=0
    )
    return scaled(X), y


def fits():
    """Yield (name, model, X, y)."""
    cancer, diabetes, digits = load_breast_cancer(), load_diabetes(), load_digits()
    X, y = scaled(cancer.data), cancer.target
    for C in (0.01, 1.0, 100.0):
        yield f"SVC rbf C={C:g}", SVC(C=C), X, y
        yield f"LinearSVC C={C:g}", LinearSVC(C=C), X, y
        yield f"LinearSVC hinge C={C:g}", LinearSVC(C=C, loss="hinge"), X, y
        yield f"LogisticRegression C={C:g}", LogisticRegression(C=C), X, y
    yield "SGDClassifier hinge", SGDClassifier(random_state=0), X, y
    yield "SGDClassifier log", SGDClassifier(loss="log_loss", random_state=0), X, y
    X, y = scaled(diabetes.data), diabetes.target
    for C in (1.0, 100.0):
        yield f"SVR rbf C={C:g}", SVR(C=C), X, y
        yield f"LinearSVR C={C:g}", LinearSVR(C=C, epsilon=1.0), X, y
    yield "Ridge", Ridge(), X, y
    yield "KernelRidge", KernelRidge(kernel="rbf", gamma=0.1), X, y
    yield "SVC rbf, 45 pairs", SVC(), digits.data / 16, digits.target
    yield "LinearSVC, 10 rests", LinearSVC(), digits.data / 16, digits.target
    for n in (5_000, 50_000):
        X, y = make_classification(n, 30, n_informative=10, flip_y=0.05, random_state=0)
        yield f"LinearSVC n={n}", LinearSVC(), X, y
        yield f"LinearSVC hinge n={n}", LinearSVC(loss="hinge"), X, y
        yield f"LogisticRegression n={n}", LogisticRegression(), X, y
        yield f"SGDClassifier n={n}", SGDClassifier(random_state=0), X, y
    X, y = clusters(5_000)
    yield "SVC rbf n=5000, 500 steps", SVC(gamma=1 / 40, max_iter=500), X, y
    yield "SVC rbf n=5000", SVC(gamma=1 / 40), X, y
    yield "SVR rbf n=5000", SVR(gamma=1 / 40), X, y - 0.5


def timed(call):
    """Return the result of a call and its seconds."""
    started = time.perf_counter()
    found = call()
    return found, time.perf_counter() - started


def to_the_end(model, X, y):
    """Return the seconds of the same fit with room to converge; None of SGD, which does not."""
    if isinstance(model, SGDClassifier):
        return None
    kernel = isinstance(model, SVC | SVR)
    longer = clone(model).set_params(max_iter=-1 if kernel else 10**6, tol=1e-4 if kernel else 1e-6)
    _, seconds = timed(lambda: longer.fit(X, y))
    return seconds if certify(longer, X, y).certified else None


def measured(name, model, X, y):
    """Return one row: medians of RUNS fits and certificates, MANY of a short fit."""
    certify(model.fit(X, y), X, y)  # the first call in a process loads libraries
    _, once = timed(lambda: model.fit(X, y))
    runs, found_all = [], []
    for _ in range(RUNS if once >= LONG else MANY):
        _, fit_seconds = timed(lambda: model.fit(X, y))
        found, seconds = timed(lambda: certify(model, X, y))
        _, reports = timed(partial(list, found.problems))
        runs.append((fit_seconds, seconds, reports))
        found_all.append(found)
    seconds = median(b for _, b, _ in runs)
    converged = 2 * sum(one.certified for one in found_all) > len(found_all)
    whole = None if converged else to_the_end(model, X, y)
    return {
        "model": name,
        "n": len(y),
        "fit_seconds": median(a for a, _, _ in runs),
        "certify_seconds": seconds,
        "ratio": median(b / a for a, b, _ in runs),
        "reports_seconds": median(c for _, _, c in runs) if found.problems else None,
        "relative_gap": median(one.relative_gap for one in found_all),
        "converged": converged,
        "converging_fit_seconds": whole,
        "ratio_to_converging_fit": None if whole is None else seconds / whole,
    }


def main():
    """Measure every fit, then the large one in a process of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of them do not converge, which is the point
        rows = [measured(*fit) for fit in fits()]
    out = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, check=True, text=True)
    large = json.loads(out.stdout)
    large["ratio"] = large["certify_seconds"] / large["fit_seconds"]
    rows.append({"model": "SVC rbf n=20000", "n": 20_000} | large)
    show([{k: row[k] for k in SHOWN} for row in rows])
    done, not_done = ([row for row in rows if row["converged"] is found] for found in (True, False))
    ended = [
        {"ratio": r} for row in not_done if (r := row.get("ratio_to_converging_fit")) is not None
    ]
    several = [row for row in rows if row.get("reports_seconds")]
    looked_at = max(row["reports_seconds"] / row["fit_seconds"] for row in several)
    long = [row["ratio"] for row in rows if row["fit_seconds"] >= LONG]
    short = [row["certify_seconds"] for row in rows if row["fit_seconds"] < LONG]
    store(
        "certify_cost",
        rows,
        f"of {len(rows)} fits {len(done)} had converged, and the certificate cost {ratios(done)}; "
        f"of the {len(not_done)} others, which stopped before that, {ratios(not_done)} "
        f"({len(ended)} of them converge when they are let: {ratios(ended, 'that fit')}); of the "
        f"{len(long)} fits of {LONG:g} s and more {min(long):.1g} to {max(long):.1f} times; after "
        f"shorter ones it took {median(short) * 1e3:.0f} ms in the median, "
        f"{max(short) * 1e3:.0f} at most; the reports of all problems of a model of several, made "
        f"when they are asked for, take {looked_at:.1f} times its fit at most; an RBF SVC of "
        f"20,000 rows {large['ratio']:.1f} times its fit in {large['peak_GiB']:.1f} GiB for both",
    )


def ratios(rows, fit="the fit"):
    """Return the least, the greatest and the median ratio in words."""
    found = [row["ratio"] for row in rows]
    return f"{min(found):.1g} to {max(found):.1f} times {fit}, median {median(found):.1f}"


if __name__ == "__main__":
    main()
