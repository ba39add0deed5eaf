"""Run every benchmark, or those named: ``python -m benchmarks [own_share memory ...]``."""

import sys
from importlib import import_module

ALL = (
    "own_share",
    "kernel_qp",
    "curves",
    "pictures",
    "import_time",
    "memory",
    "certify_cost",
    "ridge_path",
    "logistic",
    "solver_matrix",
)

for name in sys.argv[1:] or ALL:
    if name not in ALL:
        sys.exit(f"there is no benchmark {name!r}; there are {', '.join(ALL)}")
    module = import_module(f"benchmarks.{name}")  # only what is asked for: pictures need matplotlib
    print(f"\n{name}: {module.__doc__.splitlines()[0]}")
    module.main()
