"""`kernelqp compare`: every form by every solver, exit codes, and the JSON contract."""

import math
from dataclasses import replace

import pytest

import kernelqp as kq
from kernelqp.cli import app
from kernelqp.cli.compare import listed, run
from kernelqp.cli.report import dumps, of_comparison
from kernelqp.errors import InputError, SolverFailed
from kernelqp.problem_file import Problem, load_problem
from tests.test_cli import call, strict_json


def test_forms_and_solvers_are_compared_in_the_order_asked_for():
    done = call(
        "compare", "four_points", "--solvers", "ECOS,clarabel", "--solvers", "native", "--json"
    )
    assert (done.exit_code, done.stderr) == (0, "")
    report = strict_json(done.stdout)
    assert (report["title"], report["method"], report["n"]) == (
        "Four points in the plane, by hand",
        "HardMarginSVM",
        4,
    )
    asked = [(line["form"], line["asked"]) for line in report["results"]]
    assert asked == [(f, s) for f in ("dual", "primal") for s in ("ECOS", "clarabel", "native")]
    assert report["succeeded"] is report["agree"] is True
    assert (report["verdict"], report["wrong"]) == ("all results agree", [])
    assert report["lower"] == pytest.approx(1.0, rel=1e-9)
    for line in report["results"]:
        assert line["value"] == pytest.approx(1.0, rel=1e-6)
        assert line["dual_value"] <= line["primal_value"] + 1e-9
        assert line["judgement"] == "optimal"
        assert line["sets"] == {"support_vectors": 3, "elbow": 3, "left": 0, "right": 1}
        assert line["seconds"] > 0
        assert list(line["kkt"]) == [
            *("holds", "primal feasibility", "dual feasibility"),
            *("complementarity", "stationarity"),
        ]
        assert line["kkt"]["holds"] is True


def test_forms_of_the_primal_may_be_named():
    done = call(
        "compare", "four_points", "--forms", "weights,max_margin", "--form", "dual", "--json"
    )
    assert done.exit_code == 0
    forms = [line["form"] for line in strict_json(done.stdout)["results"]]
    assert forms == ["weights", "max_margin", "dual"]
    both = call("compare", "xor", "--forms", "both,dual", "--json")
    assert [line["form"] for line in strict_json(both.stdout)["results"]] == ["dual", "primal"]


def test_the_table_is_for_people():
    done = call("compare", "four_points", "--solvers", "CLARABEL,OSQP")
    assert done.exit_code == 0
    for word in (
        *("Four points in the plane", "HardMarginSVM", "n = 4", "dual, CLARABEL", "primal, OSQP"),
        *("primal feasibility", "dual feasibility", "complementarity", "stationarity"),
        *("support vectors", "elbow", "left", "right", "seconds", "CERTIFIED", "optimal"),
        "1 <= optimum <= 1",
    ):
        assert word in done.stdout
    assert done.stdout.splitlines()[-1] == "All results agree."


def test_an_intercept_that_is_not_unique_is_no_error():
    done = call("compare", "no_free_vectors", "--solvers", "OSQP,SCS,CLARABEL", "--json")
    assert done.exit_code == 0
    report = strict_json(done.stdout)
    assert report["intercept_interval"] == pytest.approx([-1.0, -0.9], abs=1e-6)
    assert "the intercept is not unique" in report["verdict"]


def test_infeasible_by_every_run_exits_with_0():
    done = call("compare", "xor_not_separable", "--solvers", "CLARABEL,ECOS", "--json")
    assert done.exit_code == 0
    report = strict_json(done.stdout)
    assert "no plane separates" in report["verdict"]
    assert {line["status"] for line in report["results"]} == {"INFEASIBLE"}
    assert {line["value"] for line in report["results"]} == {None}
    assert "Infeasible: no plane" in call("compare", "xor_not_separable").stdout


def test_a_solver_that_cannot_take_the_problem_exits_with_1():
    done = call("compare", "xor", "--solvers", "CLARABEL,SCIPY", "--json")
    assert done.exit_code == 1
    report = strict_json(done.stdout)
    assert report["agree"] is True
    assert report["verdict"] == "all results agree; no answer from SCIPY"
    failed = [line for line in report["results"] if line["asked"] == "SCIPY"]
    assert {line["status"] for line in failed} == {"SOLVER_FAILED"}
    assert all(line["message"] and line["kkt"] is None for line in failed)
    shown = call("compare", "xor", "--solvers", "CLARABEL,SCIPY")
    assert shown.exit_code == 1
    assert "SOLVER_FAILED" in shown.stdout


def stopping(monkeypatch, form, change):
    """Let one form give another result."""
    real = Problem.solve

    def solve(self, **options):
        result = real(self, **options)
        return change(result) if options["form"] == form else result

    monkeypatch.setattr(Problem, "solve", solve)


def test_a_wrong_result_is_named_and_exits_with_1(monkeypatch):
    early = load_problem("moons").primal().solve(solver="CLARABEL", max_iter=3)
    stopping(monkeypatch, "primal", lambda _: early)
    done = call("compare", "moons", "--json")
    assert done.exit_code == 1
    report = strict_json(done.stdout)
    assert report["wrong"] == [1]
    assert [line["judgement"] for line in report["results"]] == ["optimal", "wrong"]
    assert "by CLARABEL is wrong" in report["verdict"]
    assert "not certified: the primal by auto is LIMIT" in report["verdict"]
    assert report["agree"] is report["succeeded"] is False
    shown = call("compare", "moons")
    assert shown.exit_code == 1
    assert "wrong" in shown.stdout
    assert "The values disagree" in shown.stdout


def test_a_right_value_without_a_proof_exits_with_1(monkeypatch):
    from kernelqp.errors import Status

    stopping(monkeypatch, "dual", lambda s: replace(s, status=Status.NOT_CERTIFIED))
    done = call("compare", "four_points", "--json")
    assert done.exit_code == 1
    report = strict_json(done.stdout)
    assert report["agree"] is True
    assert report["verdict"].startswith("all results agree; not certified: the dual by auto")


def test_a_point_and_a_proof_that_there_is_none_contradict(monkeypatch):
    impossible = load_problem("xor_not_separable").solve()
    stopping(monkeypatch, "dual", lambda _: impossible)
    found = run(load_problem("four_points"), ("dual", "primal"), ("auto",), 1e-6, lambda _: None)
    assert not found.succeeded
    assert "contradict each other" in found.verdict


def test_no_answer_at_all_is_reported(monkeypatch):
    def fail(self, **options):
        raise SolverFailed("it broke: try CLARABEL")

    monkeypatch.setattr(Problem, "solve", fail)
    done = call("compare", "xor", "--json")
    assert done.exit_code == 1
    report = strict_json(done.stdout)
    assert (report["lower"], report["agree"]) == (None, None)
    assert "it broke" in call("compare", "xor").stdout


def test_an_infinite_bound_is_null(monkeypatch):
    def unbounded(solution):
        certificate = replace(solution.certificate, primal_value=math.inf, relative_gap=math.inf)
        return replace(solution, certificate=certificate)

    stopping(monkeypatch, "dual", unbounded)
    found = run(load_problem("xor"), ("dual",), ("auto",), 1e-6, lambda _: None)
    report = strict_json(dumps(of_comparison(found)))
    assert report["upper"] is report["results"][0]["primal_value"] is None


@pytest.mark.parametrize("as_json", [[], ["--json"]])
@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["nowhere.toml"], "no such file"),
        (["xor", "--solvers", "nope"], "'nope' is not installed"),
        (["xor", "--forms", "weights"], "needs explicit features"),
        (["xor", "--forms", "duall"], "form must be one of"),
        (["xor", "--solvers", "CLARABEL,,OSQP"], "a name is empty"),
        (["xor", "--tol", "0"], "tol must be a positive number"),
    ],
)
def test_bad_input_exits_with_2_and_one_message_on_stderr(arguments, wanted, as_json):
    done = call("compare", *arguments, *as_json)
    assert done.exit_code == 2
    assert wanted in done.stderr
    assert done.stdout == ""


def test_names_are_listed_once_and_in_order():
    assert listed(["a, b", "b", "c"], ("d",)) == ("a", "b", "c")
    assert listed([], ("d",)) == ("d",)
    with pytest.raises(InputError, match="empty"):
        listed([""], ("d",))


def test_the_command_is_listed():
    assert {command.callback.__name__ for command in app.registered_commands} == {
        *("solve", "compare", "problems", "certify"),
    }


SEPARABLE = """
[data]
X = [[-2.0], [-1.0], [1.0], [2.0]]
y = [-1, -1, 1, 1]
[method]
name = "{name}"
C = inf
"""


@pytest.mark.parametrize("command", ["solve", "compare"])
def test_without_a_penalty_the_default_is_the_primal_alone(command, tmp_path):
    from typer.testing import CliRunner

    from kernelqp.cli import app

    file = tmp_path / "bare.toml"
    file.write_text(SEPARABLE.format(name="SupportVectorRegression"))
    assert CliRunner().invoke(app, [command, str(file)]).exit_code == 0


def test_one_solution_and_other_results_are_told_apart():
    s = kq.SoftMarginSVM().solve([[0.0], [1.0]], [0, 1])
    assert kq.compare(s).agree
    joint = kq.quantiles([[0.0], [1.0]], [0.0, 1.0], [0.5], non_crossing="data")
    with pytest.raises(kq.InputError, match="JointQuantiles"):
        kq.compare([joint, joint])
