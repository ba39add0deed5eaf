"""What the pictures show: seconds against n, and certified gaps against seconds."""

from dataclasses import replace

from benchmarks.contenders import (
    dense_piqp,
    everybody,
    intelex,
    ours,
    scikit_learn,
    through_cvxpy,
)
from benchmarks.datasets import breast_cancer, clusters
from benchmarks.kernel_qp import MEANING, OPTIONAL
from benchmarks.race import race, warm_up
from benchmarks.record import busy, show, store
from benchmarks.works import first, machine

RUNS = 3
SIZES = (100, 200, 500, 1000, 2000, 4000)
LONG = 10.0  # seconds: who has taken longer is not asked for more rows
STOPPING = [10.0**-k for k in range(1, 13)]  # scikit-learn's tol
TOLERANCES = [10.0**-k for k in range(1, 12, 2)]  # of the general solvers


def by_size():
    """Yield a row for each n: the first n rows of one data set, C = 1."""
    data, slow = clusters(SIZES[-1]), {}
    for n in SIZES:
        work = machine(first(data, n), 1.0, "RBF SVM, clusters, C = 1")
        asked = [replace(c, missing=slow.get(c.name, c.missing)) for c in everybody()]
        row = race(work, asked, RUNS)
        for name, seconds in row["seconds"].items():
            if seconds is not None and seconds > LONG:
                slow[name] = f"took {seconds:.0f} s at n = {n:,}"
        yield {"picture": "seconds"} | row


def stopped_at():
    """Return (curve, tolerance, contender) of everybody at every tolerance, ours as one point."""
    found = []
    for tol in STOPPING:
        found.append(("scikit-learn", tol, scikit_learn(tol, f"scikit-learn {tol:.0e}")))
        found.append(("intelex", tol, intelex(tol, f"intelex {tol:.0e}")))
    for tol in TOLERANCES:
        for solver in ("OSQP", "CLARABEL", "PIQP"):
            name = f"cvxpy {solver}"
            found.append((name, tol, through_cvxpy(solver, tol, f"{name} {tol:.0e}")))
        found.append(("dense PIQP", tol, dense_piqp(tol, f"dense PIQP {tol:.0e}")))
    return [*found, ("ours", None, ours())]


def by_tolerance(work):
    """Yield a row for each contender and tolerance on one problem."""
    stopped = stopped_at()
    row = race(work, [contender for _, _, contender in stopped], RUNS)
    for curve, tol, contender in stopped:
        yield {
            "picture": "gap",
            "work": work.name,
            "n": work.n,
            "curve": curve,
            "tolerance": tol,
            "seconds": row["seconds"][contender.name],
            "relative_gap": row["relative_gap"][contender.name],
            "left_out": row["left_out"].get(contender.name),
            "runs": row["runs"].get(contender.name),
        }


def problems():
    """Return the problems of the picture of gaps: an easy one, and one with a long elbow."""
    return [
        machine(breast_cancer(), 1.0, "RBF SVM, breast_cancer, C = 1"),
        machine(clusters(1000), 100.0, "RBF SVM, clusters, C = 100"),
    ]


def claim(rows):
    """Return the sentence that the rows support: the largest n that everybody reached."""
    sizes = [row for row in rows if row["picture"] == "seconds" and row["seconds"]["ours"]]
    common = [row for row in sizes if not row["left_out"]]
    largest = (common or sizes)[-1]
    times = "; ".join(
        f"{name} {seconds:.2g} s (gap {largest['relative_gap'][name]:.0e})"
        for name, seconds in largest["seconds"].items()
        if seconds is not None and largest["relative_gap"][name] is not None
    )
    return f"{largest['work']}, n = {largest['n']}: {times}"


def main():
    """Measure both, print them, store them."""
    load = busy()
    warm_up(machine(first(breast_cancer(), 60), 1.0, "warm up"), everybody())
    rows = []
    for row in by_size():
        rows.append(row)
        listed = ", ".join(f"{k} {v:.3g}" for k, v in row["seconds"].items() if v is not None)
        print(f"n = {row['n']}: {listed}", flush=True)
    names = ("n", "tolerance", "seconds", "relative_gap", "curve")
    for work in problems():
        found = list(by_tolerance(work))
        show([{name: row[name] for name in names} for row in found])
        rows += found
    more = {"meaning": MEANING, "load_at_start": load}
    store("curves", rows, claim(rows), OPTIONAL, **more)


if __name__ == "__main__":
    main()
