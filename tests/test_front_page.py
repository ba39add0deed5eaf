"""README, CI and the project's other front pages say the same."""

import json
import re
from pathlib import Path

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


def test_the_version_has_a_changelog_section():
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text()
