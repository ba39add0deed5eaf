"""What comes before the first solve: the import in a fresh process, and what a first solve adds."""

import json
import subprocess
import sys
from statistics import median

from benchmarks.record import busy, show, store

RUNS = 7
TARGET = 1.5
SOLVES = 10
IMPORT = """
import time
started = time.perf_counter()
import {modules}
print(time.perf_counter() - started)
"""
OURS, THEIRS = "kernelqp", "cvxpy, sklearn.metrics.pairwise"
FIRST = f"""
import json, sys, time
import numpy as np
import kernelqp as kq
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 10))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=200) > 0, 1, -1)
before = set(sys.modules)
started_by_us = []
def hook(event, arguments):
    if event in ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec", "os.system"):
        started_by_us.append(event)
sys.addaudithook(hook)
seconds, new = [], None
for _ in range({SOLVES}):
    started = time.perf_counter()
    solution = kq.SoftMarginSVM(kernel=kq.RBF(gamma=0.1)).solve(X, y, solver="native")
    seconds.append(time.perf_counter() - started)
    new = set(sys.modules) - before if new is None else new
row = {{"first": seconds[0], "last": seconds[-1], "gap": solution.certificate.relative_gap}}
row |= {{"processes": started_by_us, "modules": sorted(new), "all": sorted(sys.modules)}}
print(json.dumps(row))
"""
COMPILERS = ("numba", "llvmlite", "jax", "torch", "tensorflow", "Cython", "pyximport")


def fresh(code):
    """Return what a new process prints."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return json.loads(run.stdout)


def imports():
    """Return the seconds of both imports, in turn; the first of each reads the files and goes."""
    pairs = [[fresh(IMPORT.format(modules=m)) for m in (OURS, THEIRS)] for _ in range(RUNS + 1)]
    ratio = median(a / b for a, b in pairs[1:])
    return {
        "work": f"import {OURS}, over import {THEIRS}",
        "seconds": median(a for a, _ in pairs[1:]),
        "over": median(b for _, b in pairs[1:]),
        "ratio": ratio,
        "target": TARGET,
        "met": ratio <= TARGET,
    }


def first_solve():
    """Return the first solve in a process over the tenth, and what it loaded."""
    runs = [fresh(FIRST) for _ in range(RUNS)]
    compilers = sorted({name for run in runs for name in run["all"]} & set(COMPILERS))
    processes = sorted({event for run in runs for event in run["processes"]})
    return {
        "work": f"first solve in a process (RBF SVM, n = 200), over solve {SOLVES}",
        "seconds": median(run["first"] for run in runs),
        "over": median(run["last"] for run in runs),
        "ratio": median(run["first"] / run["last"] for run in runs),
        "target": "compiles nothing",
        "met": not compilers and not processes,
        "compilers": compilers,
        "processes": processes,
        "modules_loaded": sorted({name for run in runs for name in run["modules"]}),
        "relative_gap": max(run["gap"] for run in runs),
    }


def main():
    """Measure both and store them."""
    load = busy()
    rows = [imports(), first_solve()]
    show([{k: row[k] for k in ("seconds", "over", "ratio", "met", "work")} for row in rows])
    imported, solved = rows
    store(
        "import_time",
        rows,
        f"in fresh processes, medians of {RUNS}: import kernelqp takes {imported['ratio']:.2f} "
        f"times import {THEIRS} (target {TARGET}); the first solve takes {solved['ratio']:.1f} "
        f"times solve {SOLVES} ({len(solved['modules_loaded'])} modules are loaded) and "
        f"{'compiles nothing' if solved['met'] else 'may compile something'}",
        load_at_start=load,
    )


if __name__ == "__main__":
    main()
