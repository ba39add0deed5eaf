"""Run every benchmark, or those named: ``python -m benchmarks [own_share memory ...]``."""

import sys

from benchmarks import (
    certify_cost,
    kernel_qp,
    logistic,
    memory,
    own_share,
    ridge_path,
    solver_matrix,
)

ALL = {
    "own_share": own_share,
    "kernel_qp": kernel_qp,
    "memory": memory,
    "certify_cost": certify_cost,
    "ridge_path": ridge_path,
    "logistic": logistic,
    "solver_matrix": solver_matrix,
}

for name in sys.argv[1:] or ALL:
    print(f"\n{name}: {ALL[name].__doc__.splitlines()[0]}")
    ALL[name].main()
