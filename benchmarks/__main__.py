"""Run every benchmark, or those named: ``python -m benchmarks [own_share auto_solver memory]``."""

import sys

from benchmarks import auto_solver, memory, own_share

ALL = {"own_share": own_share, "auto_solver": auto_solver, "memory": memory}

for name in sys.argv[1:] or ALL:
    print(f"\n{name}: {ALL[name].__doc__.splitlines()[0]}")
    ALL[name].main()
