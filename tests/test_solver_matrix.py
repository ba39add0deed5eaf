"""Every problem of the library, in both forms, by every solver: certified and right, or honest."""

import json
from dataclasses import replace

import pytest

from benchmarks import solver_matrix as matrix
from benchmarks.record import RESULTS
from kernelqp.errors import SolverFailed, Status
from kernelqp.problem_file import load_problem, problem_names

HEAVY = 300  # rows above which a factor of K, which cvxpy's cone solvers are given, takes seconds
CONIC = ("ECOS", "ECOS_BB")
LINEAR_ONLY, QUADRATIC_ONLY = {"SCIPY"}, {"OSQP", "HIGHS"}
SIZES = {name: load_problem(name).n for name in problem_names()}
METHODS = {name: type(load_problem(name).method).__name__ for name in problem_names()}
CURVED = {"power_1_5"} | {name for name in SIZES if METHODS[name] == "LogisticRegression"}
IN_CLASS = set(matrix.cells())


def is_slow(name, form, solver):
    """Whether a cell is outside its solver's size class, or heavy."""
    heavy = SIZES[name] > HEAVY and (solver in CONIC or (name, form) == ("breast_cancer", "primal"))
    heavy |= SIZES[name] > matrix.MEDIUM and (METHODS[name], solver) == ("ConstrainedRidge", "SCS")
    return (name, form, solver) not in IN_CLASS or (heavy and solver != "OSQP")


def quick_solvers(name, form):
    """Return the solvers of the cells that are not slow."""
    return [solver for solver in matrix.solvers() if not is_slow(name, form, solver)]


ROWS = [(name, form) for name in SIZES for form in matrix.FORMS]
QUICK = [row for row in ROWS if quick_solvers(*row)]
SLOW = [(*row, s) for row in ROWS for s in matrix.solvers() if is_slow(*row, s)]


def solved(name, form, solvers):
    """Return the cells of some solvers, by name."""
    return {solver: matrix.solve_cell(load_problem(name), form, solver) for solver in solvers}


@pytest.mark.parametrize(("name", "form"), QUICK)
def test_what_is_certified_is_as_expected_and_somebody_certifies_it(name, form):
    cells = solved(name, form, quick_solvers(name, form))
    assert {s: c.missed for s, c in cells.items() if c.verdict == matrix.WRONG} == {}
    assert matrix.CERTIFIED in {cell.verdict for cell in cells.values()}
    refused = {solver for solver, cell in cells.items() if cell.verdict == matrix.CANNOT}
    assert refused <= LINEAR_ONLY | (QUADRATIC_ONLY if name in CURVED else set())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form", "solver"), SLOW)
def test_what_is_certified_is_as_expected_in_heavy_cells(name, form, solver):
    cell = solved(name, form, [solver])[solver]
    assert (cell.verdict, cell.missed) != (matrix.WRONG, cell.missed)
    assert cell.verdict != matrix.CANNOT or solver in LINEAR_ONLY
    if solver == "CLARABEL":
        assert cell.verdict == matrix.CERTIFIED


def test_every_form_of_every_problem_is_asked_of_a_solver_that_must_certify_it():
    slow = {(name, form) for name, form, solver in SLOW if solver == "CLARABEL"}
    assert set(QUICK) | slow == set(ROWS)
    assert {row for row in ROWS if SIZES[row[0]] <= matrix.LARGE} <= set(QUICK)


# --- the judgement of a cell ----------------------------------------------------------------------


class Answering:
    """The four points, with a result of the test's own."""

    def __init__(self, answer):
        self.problem, self.answer = load_problem("four_points"), answer

    def solve(self, form, solver):
        return self.answer(self.problem.solve(form=form, solver=solver))

    def check(self, result):
        return self.problem.check(result)


def refuse(result):
    raise SolverFailed("no")


@pytest.mark.parametrize(
    ("answer", "verdict", "missed"),
    [
        (lambda s: s, matrix.CERTIFIED, []),
        (lambda s: replace(s, value=1.00001), matrix.WRONG, ["value"]),
        (
            lambda s: replace(s, value=1.00001, status=Status.NOT_CERTIFIED),
            matrix.NOT_CERTIFIED,
            ["status", "value"],
        ),
        (lambda s: replace(s, status=Status.LIMIT), matrix.NOT_CERTIFIED, ["status"]),
        (
            lambda _: load_problem("xor_not_separable").solve(),
            matrix.WRONG,
            sorted(load_problem("four_points").expected),
        ),
        (refuse, matrix.CANNOT, []),
    ],
)
def test_a_cell_is_judged_by_what_is_proved_and_what_is_expected(answer, verdict, missed):
    cell = matrix.solve_cell(Answering(answer), "dual", "CLARABEL")
    assert (cell.verdict, sorted(cell.missed)) == (verdict, missed)


@pytest.mark.parametrize(
    ("word", "value", "form", "expected", "wrong"),
    [
        ("optimal", 1.0, "dual", {"value": 1.0}, False),
        ("optimal", 1.00001, "dual", {"value": 1.0}, True),
        ("optimal", None, "dual", {"value": 1.0}, True),
        ("optimal_inaccurate", 2.0, "dual", {"value": 1.0}, False),  # it says so
        ("unbounded", None, "dual", {"value": 1.0}, True),
        ("unbounded", None, "dual", {"status": "INFEASIBLE"}, False),
        ("infeasible", None, "dual", {"status": "INFEASIBLE"}, True),
        ("infeasible", None, "primal", {"status": "INFEASIBLE"}, False),
        ("optimal", 3.0, "primal", {"status": "INFEASIBLE"}, True),
        ("SolverError", None, "primal", {"status": "INFEASIBLE"}, False),
    ],
)
def test_a_solvers_claim_is_compared_with_what_is_known(word, value, form, expected, wrong):
    assert matrix.claims_wrongly(word, value, form, expected) is wrong


# --- the stored table -----------------------------------------------------------------------------


def test_the_stored_table_is_of_this_library_and_supports_its_claim():
    stored = json.loads((RESULTS / "solver_matrix.json").read_text())
    rows = stored["rows"]
    assert {(row["problem"], row["n"]) for row in rows} == set(SIZES.items())
    assert stored["claim"] == matrix.claim(rows)
    assert [row for row in rows if row["verdict"] == matrix.WRONG] == []


def test_the_summary_counts_every_row_once():
    rows = json.loads((RESULTS / "solver_matrix.json").read_text())["rows"]
    table = matrix.summary(rows)
    assert sum(line["cells"] for line in table) == len(rows)
    assert all(sum(line[v] for v in matrix.VERDICTS) == line["cells"] for line in table)
