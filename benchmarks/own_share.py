"""Our own share of a solve: 1 − (time inside problem.solve of the twin)/(time of the solve)."""

import time
from statistics import median

from benchmarks.datasets import breast_cancer, digits
from benchmarks.record import show, store
from kernelqp import RBF, SoftMarginSVM
from kernelqp.twin import Twin

RUNS = 5


def timed_solves(formulation_of, solver):
    """Return the own shares and the seconds of RUNS solves of new formulations."""
    shares, seconds, inside = [], [], []
    compiled = Twin.problem.fget

    def clocked(twin):
        problem = compiled(twin)
        if not hasattr(problem, "_clocked"):
            solve = problem.solve

            def timed(*args, **kwargs):
                started = time.perf_counter()
                try:
                    return solve(*args, **kwargs)
                finally:
                    inside.append(time.perf_counter() - started)

            problem.solve, problem._clocked = timed, True
        return problem

    Twin.problem = property(clocked)
    try:
        formulation_of().solve(solver=solver)  # the first call in a process loads libraries
        for _ in range(RUNS):
            formulation = formulation_of()
            inside.clear()
            started = time.perf_counter()
            formulation.solve(solver=solver)
            seconds.append(time.perf_counter() - started)
            shares.append(1 - sum(inside) / seconds[-1])
    finally:
        Twin.problem = property(compiled)
    return shares, seconds


def main():
    """Measure the dual of two RBF SVMs."""
    rows = []
    for name, data in (("breast_cancer", breast_cancer), ("digits", digits)):
        X, y, gamma = data()
        svm = SoftMarginSVM(kernel=RBF(gamma=gamma))
        for solver in ("OSQP", "CLARABEL"):
            shares, seconds = timed_solves(lambda: svm.dual(X, y), solver)  # noqa: B023
            rows.append(
                {
                    "data": name,
                    "n": len(y),
                    "solver": solver,
                    "own_share": median(shares),
                    "seconds": median(seconds),
                }
            )
    show(rows)
    worst = max(row["own_share"] for row in rows)
    store("own_share", rows, f"own share of a solve, medians of {RUNS}: at most {worst:.1%}")


if __name__ == "__main__":
    main()
