"""Outcomes and problems as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kernelqp.cli.outcome import Failed, Form, Outcome, Refuted, Solved, count_support

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelqp.cli.compare import Compared, Run
    from kernelqp.compared_result import ComparedResult
    from kernelqp.problem_file import Problem

WIDE = 200  # characters of a line that goes to a file or a pipe
ABREAST = 3  # runs that fit side by side on a terminal of 80 characters

ROWS = (
    "value",
    "lower bound",
    "upper bound",
    "relative gap",
    "status",
    "solver",
    "seconds",
    "support vectors",
    "KKT holds",
    "worst condition",
    "of its tolerance",
)


def outcome(found: Outcome) -> None:
    """Print what was solved, what is proved, and whether it is what the file expects."""
    console = Console(highlight=False)
    problem = found.problem
    console.print(Text(problem.title, style="bold"), soft_wrap=True)
    console.print(Text(f"{problem.method!r}, n = {problem.n}"), soft_wrap=True)
    console.print(_forms(found))
    for name, form in found.forms.items():
        if isinstance(form, Failed):
            console.print(Text(f"{name}: {form.message}"), soft_wrap=True)
    if found.comparison is not None:
        console.print(Text(f"primal and dual: {found.comparison.verdict}"))
    if found.checks:
        console.print(_expected(found))
    style = "bold green" if found.succeeded else "bold red"
    console.print(Text(sentence(found), style=style), soft_wrap=True)


def library(problems: Iterable[Problem]) -> None:
    """Print one line for each problem; only a terminal has a width that titles must fit in."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    table = Table(box=SIMPLE)
    for column in ("name", "title", "method"):
        table.add_column(column, no_wrap=column != "title")
    table.add_column("n", justify="right")
    table.add_column("optimum", justify="right", no_wrap=True)
    for problem in problems:
        optimum = problem.expected.get("value", problem.expected.get("status", ""))
        method = type(problem.method).__name__
        cells = (problem.name, problem.title, method, str(problem.n), _cell(optimum))
        table.add_row(*map(Text, cells))
    console.print(table)


COMPARED = (
    *("value", "relative gap", "primal feasibility", "dual feasibility", "complementarity"),
    *("stationarity", "support vectors", "elbow", "left", "right", "seconds", "status", "judged"),
)


def comparison(found: Compared) -> None:
    """Print every run as a column, and the verdict."""
    console = Console(highlight=False)
    problem = found.problem
    console.print(Text(problem.title, style="bold"), soft_wrap=True)
    console.print(Text(f"{problem.method!r}, n = {problem.n}"), soft_wrap=True)
    lines = iter(() if found.comparison is None else found.comparison.results)
    columns = [
        _unsolved(run) if isinstance(run.result, Failed | Refuted) else _compared(run, next(lines))
        for run in found.runs
    ]
    for start in range(0, len(columns), ABREAST):
        console.print(_abreast(columns[start : start + ABREAST]))
    for run in found.runs:
        if isinstance(run.result, Failed):
            console.print(Text(f"{run.form}, {run.solver}: {run.result.message}"), soft_wrap=True)
    if found.comparison is not None:
        bounds = found.comparison.lower, found.comparison.upper
        console.print(Text("{:.10g} <= optimum <= {:.10g}".format(*bounds)), soft_wrap=True)
    style = "bold green" if found.succeeded else "bold red"
    verdict = found.verdict[:1].upper() + found.verdict[1:]
    console.print(Text(f"{verdict}.", style=style), soft_wrap=True)


def _abreast(columns: list[dict[str, str]]) -> Table:
    """Return a table of a few runs."""
    table = Table()
    table.add_column("KKT: residual/scale", no_wrap=True)
    for column in columns:
        table.add_column(Text(column["name"]), justify="right")
    for name in COMPARED:
        table.add_row(name, *(_judged(column.get(name, "-")) for column in columns))
    return table


def _judged(cell: str) -> Text:
    return Text(cell, style={"wrong": "bold red", "optimal": "green"}.get(cell, ""))


def _unsolved(run: Run) -> dict[str, str]:
    """Return the cells of a run without a point."""
    column = {"name": f"{run.form}, {run.solver}", "status": "SOLVER_FAILED"}
    if isinstance(run.result, Refuted):
        result = run.result.result
        column |= {"status": result.status.name, "seconds": f"{result.seconds:.2g}"}
    return column


def _compared(run: Run, line: ComparedResult) -> dict[str, str]:
    """Return the cells of a run by their row."""
    who = line.solver if run.solver == line.solver else f"{run.solver}: {line.solver}"
    sizes = (line.support_vectors, line.elbow, line.left, line.right)
    return {
        "name": f"{run.form}, {who}",
        "value": _cell(line.value),
        "relative gap": f"{line.relative_gap:.1e}",
        **{kind: "not judged" if v is None else f"{v:.1e}" for kind, v in line.kkt.items()},
        **dict(zip(COMPARED[6:10], map(_cell, sizes), strict=True)),
        "seconds": f"{line.seconds:.2g}",
        "status": line.status,
        "judged": line.judgement,
    }


def sentence(found: Outcome) -> str:
    """Return the last line: what is proved, and what is not."""
    if not found.proved:
        return f"Not proved: {_why(found)}"
    if not found.agree:
        return "Contradiction: both forms are certified and their values differ; please report it."
    if found.certified:
        widest = max(s.certificate.relative_gap for s in found.solutions)
        text = f"Certified: the optimum is {found.solutions[0].value:.10g} to within {widest:.1e}"
    else:
        refuted = next(form for form in found.forms.values() if isinstance(form, Refuted))
        said = str(refuted.result)
        text = said[0].upper() + said[1:]
    if not found.checks:
        return f"{text}."
    missed = [key for key, check in found.checks.items() if not check.ok]
    if missed:
        return f"{text}; the file expects another {', '.join(missed)}."
    return f"{text}, as the file expects."


def _why(found: Outcome) -> str:
    for name, form in found.forms.items():
        if isinstance(form, Failed):
            return f"the solver of the {name} failed."
        if isinstance(form, Solved) and not form.proved:
            return f"the {name} is {form.solution.status.name}. {form.solution.status.value}"
    return "one form has a point and the other a proof that there is none; please report it."


def _forms(found: Outcome) -> Table:
    table = Table()
    table.add_column("")
    for name in found.forms:
        table.add_column(name, justify="right")
    columns = [_column(form) for form in found.forms.values()]
    for name in ROWS:
        table.add_row(name, *(Text(column.get(name, "-")) for column in columns))
    return table


def _column(form: Form) -> dict[str, str]:
    """Return the cells of one form by their row; absent ones show a dash."""
    if isinstance(form, Failed):
        return {"status": "SOLVER_FAILED"}
    if isinstance(form, Refuted):
        return {"status": form.result.status.name, "seconds": f"{form.result.seconds:.2g}"}
    solution, certificate, worst = form.solution, form.solution.certificate, form.kkt.worst
    count = count_support(solution)
    return {
        "value": _cell(solution.value),
        "lower bound": _cell(certificate.dual_value),
        "upper bound": _cell(certificate.primal_value),
        "relative gap": f"{certificate.relative_gap:.1e}",
        "status": solution.status.name,
        "solver": solution.solver,
        "seconds": f"{solution.seconds:.2g}",
        "support vectors": "-" if count is None else str(count),
        "KKT holds": "yes" if form.kkt.holds else "NO",
        "worst condition": worst.name,
        "of its tolerance": "not judged" if worst.holds is None else f"{worst.ratio:.1e}",
    }


def _expected(found: Outcome) -> Table:
    table = Table()
    for column in ("expected", "want", "got", "ok"):
        table.add_column(column, overflow="fold")
    for key, check in found.checks.items():
        ok = Text("yes", style="green") if check.ok else Text("NO", style="bold red")
        table.add_row(Text(key), Text(_cell(check.want)), Text(_cell(check.got)), ok)
    return table


def _cell(value: Any) -> str:
    """Return a value as a cell shows it: ten digits, a dash for nothing, the head of a list."""
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        head = ", ".join(_cell(item) for item in value[:6])
        return f"[{head}, ... {len(value)} in all]" if len(value) > 6 else f"[{head}]"
    if isinstance(value, int | str):
        return str(value)
    return f"{float(value):.10g}"
