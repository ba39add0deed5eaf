"""The commands: exit codes, the JSON contract, and what goes to which stream."""

import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelqp
from kernelqp.cli import app
from kernelqp.cli.outcome import run
from kernelqp.cli.report import dumps, of_outcome
from kernelqp.cli.show import sentence
from kernelqp.errors import SolverFailed
from kernelqp.problem_file import Problem, load_problem, problem_names

FOUR = (
    'title = "four [red]points[/red]"\n[data]\nX = [[0, 0], [2, 2], [2, 0], [3, 0]]\n'
    'y = [-1, -1, 1, 1]\n[method]\nname = "HardMarginSVM"\n'
)


def call(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def strict_json(text):
    """Parse JSON that has neither NaN nor Infinity."""

    def refuse(word):
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def file(tmp_path):
    """Write a problem file."""

    def write(text):
        path = tmp_path / "problem.toml"
        path.write_text(text)
        return path

    return write


# --- solve ----------------------------------------------------------------------------------------


def test_solve_proves_both_forms_and_exits_with_0():
    done = call("solve", "xor")
    assert done.exit_code == 0
    assert done.stderr == ""
    for word in ("XOR is separable", "HardMarginSVM", "n = 4", "dual", "primal", "CERTIFIED"):
        assert word in done.stdout
    assert "primal and dual: all results agree" in done.stdout  # b = 0 up to rounding
    assert done.stdout.splitlines()[-1].startswith("Certified: the optimum is 0.25")
    assert done.stdout.rstrip().endswith("as the file expects.")


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_solve_one_form(form):
    done = call("solve", "xor", "--form", form, "--json")
    assert done.exit_code == 0
    assert list(strict_json(done.stdout)["forms"]) == [form]


def test_the_json_is_the_contract():
    done = call("solve", "breast_cancer", "--json")
    assert done.exit_code == 0
    report = strict_json(done.stdout)
    keys = ["title", "method", "n", "certified", "support_vectors", "forms", "expected"]
    assert list(report) == keys
    assert report["method"] == "SoftMarginSVM"
    assert (report["n"], report["certified"], report["support_vectors"]) == (569, True, 119)
    assert set(report["forms"]) == {"dual", "primal"}
    for form in report["forms"].values():
        assert form["value"] == pytest.approx(59.76134537, rel=1e-6)
        assert form["dual_value"] <= form["primal_value"] + 1e-9
        assert 0 <= form["relative_gap"] <= 1e-6
        assert form["status"] == "CERTIFIED"
        assert isinstance(form["solver"], str)
        assert form["seconds"] > 0
        assert list(form["kkt"]) == ["holds", "worst", "conditions"]
        assert form["kkt"]["holds"] is True
        names = [condition["name"] for condition in form["kkt"]["conditions"]]
        assert form["kkt"]["worst"] in names
        for condition in form["kkt"]["conditions"]:
            wanted = ["name", "value", "scale", "tolerance", "holds", "where"]
            assert list(condition) == wanted
    assert list(report["expected"]["value"]) == ["want", "got", "ok"]
    assert all(check["ok"] for check in report["expected"].values())


def test_a_user_s_solver_and_tolerance_are_used():
    report = strict_json(call("solve", "xor", "--solver", "ecos", "--tol", "1e-4", "--json").stdout)
    for form in report["forms"].values():
        assert form["solver"] == "ECOS"
        conditions = form["kkt"]["conditions"]
        assert all(
            math.isclose(c["tolerance"], 1e-4 * c["scale"]) for c in conditions if c["scale"]
        )


def test_a_wrong_expectation_exits_with_1_and_says_which(file):
    path = file(FOUR + "[expected]\nvalue = 2\nintercept = -1\n")
    done = call("solve", path, "--json")
    assert done.exit_code == 1
    report = strict_json(done.stdout)
    assert report["certified"] is True
    assert report["expected"]["value"]["ok"] is False
    assert report["expected"]["value"]["want"] == 2
    assert report["expected"]["value"]["got"] == pytest.approx(1, rel=1e-6)
    assert report["expected"]["intercept"]["ok"] is True
    shown = call("solve", path)
    assert shown.exit_code == 1
    assert "the file expects another value" in shown.stdout


def test_nothing_expected_needs_nothing_met(file):
    done = call("solve", file(FOUR), "--json")
    assert done.exit_code == 0
    assert strict_json(done.stdout)["expected"] == {}


def test_a_title_is_shown_as_it_is_written(file):
    assert "four [red]points[/red]" in call("solve", file(FOUR)).stdout


def test_infeasible_with_proof_exits_with_0():
    done = call("solve", "xor_not_separable", "--json")
    assert done.exit_code == 0
    report = strict_json(done.stdout)
    assert report["certified"] is False
    assert report["support_vectors"] is None
    for form in report["forms"].values():
        assert form["status"] == "INFEASIBLE"
        assert (form["value"], form["relative_gap"], form["kkt"]) == (None, None, None)
        assert "no plane separates" in form["proof"]
    shown = call("solve", "xor_not_separable")
    assert shown.exit_code == 0
    assert "Infeasible: no plane separates" in shown.stdout


def test_infeasible_against_the_expectation_exits_with_1(file):
    text = FOUR.replace("[3, 0]", "[0, 0]") + "[expected]\nvalue = 1\n"
    report = call("solve", file(text), "--json")
    assert report.exit_code == 1
    expected = strict_json(report.stdout)["expected"]
    assert expected == {"value": {"want": 1, "got": None, "ok": False}}


def test_an_answer_that_is_not_certified_exits_with_1():
    done = call("solve", "iris_hard", "--tol", "1e-300")
    assert done.exit_code == 1
    assert "is NOT_CERTIFIED. The bound is wider than tol" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("nothing.toml",), "nothing.toml: there is no such file"),
        (("xor", "--solver", "FOO"), "solver 'FOO' is not installed"),
        (("xor", "--tol", "0"), "tol must be a positive number"),
        (("xor", "--tol", "nan"), "tol must be a positive number"),
        (("xor", "--tol", "x"), "Invalid value"),
        (("xor", "--form", "both ways"), "Invalid value"),
        ((), "Missing argument"),
    ],
)
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_bad_input_exits_with_2_and_one_message_on_stderr(arguments, wanted, as_json):
    done = call("solve", *arguments, *as_json)
    assert done.exit_code == 2
    assert wanted in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (("[3, 0]", "[nan, 0]"), "problem.toml: [data] X must be finite; got nan"),
        (("-1, -1, 1, 1", "0, 1, 2, 3"), "problem.toml: y must hold two classes"),
        (("y = ", "z = "), "problem.toml: [data] has the unknown key 'z'"),
    ],
)
def test_a_bad_file_exits_with_2(file, change, wanted):
    done = call("solve", file(FOUR.replace(*change)))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("kernelqp: ")
    assert wanted in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_solver_that_fails_is_reported_and_exits_with_1(monkeypatch):
    real = Problem.solve

    def fails_on_primal(self, form="auto", **options):
        if form == "primal":
            raise SolverFailed("it broke: try CLARABEL")
        return real(self, form=form, **options)

    monkeypatch.setattr(Problem, "solve", fails_on_primal)
    done = call("solve", "xor", "--json")
    assert done.exit_code == 1
    report = strict_json(done.stdout)
    assert report["forms"]["dual"]["status"] == "CERTIFIED"
    assert report["forms"]["primal"]["status"] == "SOLVER_FAILED"
    assert report["forms"]["primal"]["message"] == "it broke: try CLARABEL"
    assert report["certified"] is False
    assert report["expected"]["value"]["ok"] is False
    shown = call("solve", "xor")
    assert shown.exit_code == 1
    assert "it broke: try CLARABEL" in shown.stdout
    assert "Not proved: the solver of the primal failed." in shown.stdout


def test_forms_that_contradict_each_other_are_not_proved(monkeypatch):
    right = load_problem("four_points").solve()
    doubled = replace(right.certificate, primal_value=2.0, dual_value=2.0)
    answers = {"dual": right, "primal": replace(right, value=2.0, certificate=doubled)}
    impossible = load_problem("xor_not_separable").solve()
    monkeypatch.setattr(Problem, "solve", lambda _, form, **__: answers[form])
    four = load_problem("four_points")
    found = run(four, ("dual", "primal"), "auto", 1e-6, lambda _: None)
    assert found.certified
    assert not found.agree
    assert not found.succeeded
    assert sentence(found).startswith("Contradiction")
    answers["dual"] = impossible
    found = run(four, ("dual", "primal"), "auto", 1e-6, lambda _: None)
    assert not found.succeeded
    assert "one form has a point and the other a proof" in sentence(found)
    assert strict_json(dumps(of_outcome(found)))["certified"] is False


@pytest.mark.parametrize("solver", ["OSQP", "CLARABEL"])
def test_a_real_process_prints_json_and_nothing_else(solver):
    code = "import sys; from kernelqp.cli import app; app(sys.argv[1:])"
    arguments = ["solve", "six_points", "--json", "--solver", solver]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert strict_json(done.stdout)["support_vectors"] == 2


def test_json_has_no_nan_and_no_infinity():
    numbers = {"a": [math.nan, math.inf, 1.5], "b": (None, True), "c": np.array([1, np.nan])}
    wanted = {"a": [None, None, 1.5], "b": [None, True], "c": [1, None], "d": True}
    assert strict_json(dumps(numbers | {"d": np.bool_(True)})) == wanted


def test_long_work_shows_a_spinner_on_a_terminal_only(monkeypatch):
    from rich.console import Console

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(Console, "is_terminal", property(lambda self: self.stderr))
    done = call("solve", "xor", "--json")
    assert done.exit_code == 0
    assert "\x1b[" in done.stderr  # the text itself is drawn by a clock
    assert strict_json(done.stdout)["certified"] is True


# --- the rest -------------------------------------------------------------------------------------


def test_problems_lists_the_library():
    done = call("problems")
    assert done.exit_code == 0
    for name in problem_names():
        assert name in done.stdout
    for word in ("XOR is separable", "HardMarginSVM", "569", "59.76134537", "INFEASIBLE"):
        assert word in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    assert len(lines) == 2 + len(problem_names())  # in a pipe one line each, however long its title


def test_problems_as_json():
    listed = {entry["name"]: entry for entry in strict_json(call("problems", "--json").stdout)}
    assert set(listed) == set(problem_names())
    assert listed["xor"]["value"] == 0.25
    assert listed["breast_cancer"]["n"] == 569
    assert listed["xor_not_separable"]["status"] == "INFEASIBLE"


def test_version():
    done = call("--version")
    assert (done.exit_code, done.stdout.strip()) == (0, f"kernelqp {kernelqp.__version__}")


def test_help_names_the_exit_codes():
    done = call("solve", "--help")
    assert done.exit_code == 0
    assert "--json" in done.stdout
    assert "2 bad input" in done.stdout
