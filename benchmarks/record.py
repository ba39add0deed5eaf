"""Where results are stored, and what is stored beside them."""

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
QUIET = 0.5
PACKAGES = (
    "kernelqp",
    "numpy",
    "scipy",
    "cvxpy",
    "osqp",
    "clarabel",
    "ecos",
    "scs",
    "scikit-learn",
)


def installed(package):
    """Return the version of a package that a benchmark can do without."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def busy():
    """Return what else the machine does, in cores, and say so where it is too much to measure.

    The threads of a BLAS wait for each other: where others take a core, all take much longer.
    """
    load = os.getloadavg()[0]
    if load > QUIET:
        print(f"the machine is busy (load {load:.1f}): these ratios will not hold")
    return load


def store(name, rows, claim, optional=(), **more):
    """Write rows and the claim that they support, with versions and machine.

    ``optional`` are packages that may be missing, which the versions then say; ``more`` are other
    entries of the record.
    """
    record = {
        "claim": claim,
        "machine": {
            "system": platform.system(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "versions": {package: version(package) for package in PACKAGES}
        | {package: installed(package) for package in optional},
        **more,
        "rows": rows,
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"stored benchmarks/results/{path.name}: {claim}")


def show(rows):
    """Print rows as a table."""
    names = list(rows[0])
    print("  ".join(f"{name:>14}" for name in names))
    for row in rows:
        print("  ".join(f"{_text(row[name]):>14}" for name in names))


def _text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)
