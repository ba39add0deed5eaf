"""The commands, their options and their exit codes.

0   every form is certified, or infeasible with proof, the forms agree, and [expected] is met
1   otherwise
2   bad input: one message on standard error
"""

from __future__ import annotations

import contextlib
from enum import StrEnum
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import kernelqp
from kernelqp.cli import compare as comparing
from kernelqp.cli import report, show
from kernelqp.cli.outcome import Outcome, run
from kernelqp.errors import InputError, KernelQPError, SolverNotInstalled
from kernelqp.problem_file import load_problem, problem_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

app = typer.Typer(
    name="kernelqp",
    help="Solve kernel machines as convex programs, and prove how good the answer is.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    add_completion=False,
)


class FormChoice(StrEnum):
    """Which sides of the duality to solve."""

    both = "both"
    primal = "primal"
    dual = "dual"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kernelqp {kernelqp.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[  # typer calls _version with it
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Solve kernel machines as convex programs, and prove how good the answer is."""


@app.command()
def solve(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A problem file, or the name of one in the library."),
    ],
    form: Annotated[FormChoice, typer.Option(help="Which form to solve.")] = FormChoice.both,
    solver: Annotated[
        str, typer.Option(metavar="NAME", help="A solver that cvxpy has, or auto.")
    ] = "auto",
    tol: Annotated[float, typer.Option(help="The relative gap that counts as certified.")] = 1e-6,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Solve a problem file and prove the answer.

    Exit code: 0 proved and as expected, 1 not so, 2 bad input.
    """
    with _complaints():
        outcome = _solve(file, form, solver, tol)
    if as_json:
        typer.echo(report.dumps(report.of_outcome(outcome)))
    else:
        show.outcome(outcome)
    raise typer.Exit(0 if outcome.succeeded else 1)


@app.command()
def compare(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A problem file, or the name of one in the library."),
    ],
    forms: Annotated[
        list[str],
        typer.Option(
            "--forms",
            "--form",
            metavar="NAMES",
            help="Forms, by commas or repeated: primal, dual, or a form of the primal "
            "(weights, coefficients, max_margin).",
        ),
    ] = [],  # noqa: B006  # typer makes a list of its own
    solvers: Annotated[
        list[str],
        typer.Option(
            "--solvers",
            "--solver",
            metavar="NAMES",
            help="Solvers, by commas or repeated: those that cvxpy has, native, auto.",
        ),
    ] = [],  # noqa: B006
    tol: Annotated[float, typer.Option(help="The relative gap that counts as certified.")] = 1e-6,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Solve every form by every solver, and say which results agree and which are wrong.

    Exit code: 0 all proved and in agreement, 1 not so, 2 bad input.
    """
    with _complaints(), _spinner() as progress:
        chosen = comparing.listed(forms, ("both",)), comparing.listed(solvers, ("auto",))
        found = comparing.run(load_problem(file), *chosen, tol, progress)
    if as_json:
        typer.echo(report.dumps(report.of_comparison(found)))
    else:
        show.comparison(found)
    raise typer.Exit(0 if found.succeeded else 1)


@app.command()
def problems(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """List the library of reference problems; `kernelqp solve NAME` solves one."""
    with _complaints():
        found = [load_problem(name) for name in problem_names()]
    if as_json:
        typer.echo(report.dumps([report.of_problem(problem) for problem in found]))
    else:
        show.library(found)


@app.command()
def certify(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A LIBSVM model file, or a *.skops file.")
    ],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Its training data: svmlight text, or a CSV.")
    ],
    target: Annotated[str | None, typer.Option(help="The target column of a CSV.")] = None,
    price: Annotated[
        float | None, typer.Option("-c", "--C", help="C, which a LIBSVM model does not hold.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("-p", "--epsilon", help="The tube of a LIBSVM epsilon-SVR.")
    ] = None,
    nu: Annotated[
        float | None, typer.Option("-n", "--nu", help="The nu of a LIBSVM nu-SVC.")
    ] = None,
    tol: Annotated[float, typer.Option(help="The relative gap that counts as converged.")] = 1e-3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say how far a fitted model is from the optimum of its own objective.

    Exit code: 0 converged, 1 not so, 2 bad input.
    """
    from kernelqp.cli.certify import certify_files  # scikit-learn's models are slow to import

    with _complaints():
        found = certify_files(model, data, target, price, epsilon, tol, nu)
    typer.echo(report.dumps(report.of_model(found)) if as_json else str(found))
    raise typer.Exit(0 if found.certified else 1)


def _solve(file: str, form: FormChoice, solver: str, tol: float) -> Outcome:
    """Load and solve."""
    with _spinner() as progress:
        problem = load_problem(file)
        forms = problem.sides if form is FormChoice.both else (form.value,)
        return run(problem, forms, solver, tol, progress)


@contextlib.contextmanager
def _spinner() -> Iterator[Callable[[str], None]]:
    """Show what is being done on a terminal, and nothing elsewhere."""
    console = Console(stderr=True)
    with console.status("reading") if console.is_terminal else contextlib.nullcontext() as spinner:

        def progress(doing: str) -> None:
            if spinner is not None:
                spinner.update(doing)

        yield progress


@contextlib.contextmanager
def _complaints() -> Iterator[None]:
    """Turn what the package raises into one message on standard error and an exit code."""
    try:
        yield
    except KernelQPError as error:
        typer.echo(f"kernelqp: {error}", err=True)
        bad_input = isinstance(error, InputError | SolverNotInstalled)
        raise typer.Exit(2 if bad_input else 1) from error
