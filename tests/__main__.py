"""The one command: format, lint, types, spelling, tests with coverage. ``python -m tests``."""

import subprocess
import sys

STEPS = (
    ("ruff", "format", "--check", "."),
    ("ruff", "check", "."),
    ("mypy",),
    (
        "codespell_lib",
        "kernelqp",
        "problems",
        "tests",
        "benchmarks",
        "docs",
        "README.md",
        "CONTRIBUTING.md",
    ),
    ("pytest", "-q", "-n", "2", "--cov", *sys.argv[1:]),
)

if __name__ == "__main__":
    for step in STEPS:
        print("$ python -m", *step, flush=True)  # noqa: T201  # it reports to a person
        code = subprocess.run([sys.executable, "-m", *step], check=False).returncode
        if code:
            sys.exit(code)
