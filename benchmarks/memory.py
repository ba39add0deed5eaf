"""Copies of K that a formulation holds: before solving, with the centred kernel of the twin."""

import gc
import tracemalloc

from benchmarks.datasets import breast_cancer
from benchmarks.record import show, store
from kernelqp import RBF, SoftMarginSVM
from kernelqp.twin import Twin


def held(build, n):
    """Return the memory that ``build()`` keeps, in copies of an n x n matrix of floats."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = build()
    gc.collect()
    copies = (tracemalloc.get_traced_memory()[0] - before) / (8 * n * n)
    tracemalloc.stop()
    del kept
    return copies


def main():
    """Count the copies of the dual and of the primal in coefficients."""
    X, y, gamma = breast_cancer()
    svm = SoftMarginSVM(kernel=RBF(gamma=gamma))
    rows = []
    for form in ("dual", "coefficients"):

        def build(form=form):
            page = svm.dual(X, y) if form == "dual" else svm.primal(X, y, form=form)
            side = "dual" if form == "dual" else "primal"
            return page, Twin(page.risk().centred, side, quadratic=True)

        rows.append({"form": form, "n": len(y), "copies": held(build, len(y))})
    show(rows)
    store("memory", rows, "copies of K held before solving, the centred twin included")


if __name__ == "__main__":
    main()
