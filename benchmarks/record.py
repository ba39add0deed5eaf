"""Where results are stored, and what is stored beside them."""

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
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


def store(name, rows, claim):
    """Write rows and the claim that they support, with versions and machine."""
    record = {
        "claim": claim,
        "machine": {
            "system": platform.system(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "versions": {package: version(package) for package in PACKAGES},
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
