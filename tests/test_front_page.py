"""README, CI and the project's other front pages say the same."""

import json
import re
from pathlib import Path

from kernelqp import certify
from kernelqp.foreign.registry import FAMILIES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def commands():
    """Return the README's two set-up commands."""
    return [line for line in README.splitlines() if line.startswith("python3 -m venv")]


def test_ci_runs_exactly_the_two_commands_of_the_readme():
    main_job, tests = commands()
    script = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in script if line.startswith("python3")] == [tests, main_job]


def test_every_quoted_result_is_stored():
    quoted = re.findall(r"benchmarks/results/(\w+)\.json", README)
    assert quoted
    for name in quoted:
        record = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())
        assert record["claim"] in README
        assert record["versions"]["kernelqp"]


def test_the_models_that_can_be_certified_are_said_alike():
    models = FAMILIES.split(", pipelines")[0]
    assert f"scikit-learn's {models}" in " ".join(README.split())
    assert f"scikit-learn's {models}" in " ".join(certify.__doc__.split())


def test_the_table_of_solvers_is_the_stored_matrix():
    text = (ROOT / "benchmarks" / "results" / "solver_matrix.json").read_text()
    table = re.findall(
        r"^\| ([A-Z_]+) \| (\d+) of (\d+) \| (\d+) of (\d+) \| (\d+) \|$", README, re.MULTILINE
    )
    assert {row[0] for row in table} == {row["solver"] for row in json.loads(text)["rows"]}
    for solver, *counts in table:
        cells = [row for row in json.loads(text)["rows"] if row["solver"] == solver]
        assert [int(n) for n in counts] == solver_counts(cells)


def solver_counts(cells):
    """Right answers and cells, of the primal and of the dual, and wrong claims as it stands."""
    counts = []
    for form in ("primal", "dual"):
        of_form = [row for row in cells if row["form"] == form]
        right = [row for row in of_form if row["verdict"] == "certified" and row["meets_expected"]]
        counts += [len(right), len(of_form)]
    return [*counts, sum(bool(row["literal_wrong"]) for row in cells)]


def test_the_version_has_a_changelog_section():
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text()
