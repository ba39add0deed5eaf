"""Problem files: a method, its data and what is known of its optimum, in TOML.

    title = "XOR is separable with a quadratic kernel"      source = "who says so"
    [data]      inline X and y | sklearn | path | generator; see `kernelqp.problem_file.data`
    [method]    name and the parameters of a class of `kernelqp.methods`
    [expected]  value, alpha, support_vectors, ...; see `kernelqp.problem_file.expected`

The library of reference problems lies in `problems/` of a checkout; a wheel carries it inside the
package.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelqp.errors import ProblemFileError
from kernelqp.methods import METHODS
from kernelqp.methods.base import Method
from kernelqp.problem_file.data import read_data
from kernelqp.problem_file.expected import Check, compare_with, read_expected
from kernelqp.problem_file.table import TABLE, TEXT, Table, blamed_on, remedy
from kernelqp.repaired import is_precomputed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kernelqp._types import Matrix, Vector
    from kernelqp.formulation import Formulation
    from kernelqp.solution import Infeasible, Solution

SECTIONS = ("title", "source", "data", "method", "expected")
EXAMPLE = {
    "data": "[data] with  X = [[0], [1]]  and  y = [-1, 1]",
    "method": '[method] with  name = "HardMarginSVM"',
}


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A problem as its file states it; arrays are read-only.

    Attributes
    ----------
    title, source : str
        What it shows, and how its optimum is known.
    method : object
        One of :mod:`kernelqp.methods`.
    X : Matrix, shape (n, d)
        Features, or the kernel matrix, shape (n, n), of a precomputed kernel.
    y : array, shape (n,)
        Labels, or targets of a regression.
    sample_weight : Vector, shape (n,), or None
    expected : mapping of str to value
        What a result is compared with; empty if nothing is known.
    path : Path
        The file.

    Examples
    --------
    >>> xor = load_problem("xor")
    >>> solution = xor.solve()
    >>> print(f"{solution.value:.6f}", xor.check(solution)["value"].ok)
    0.250000 True
    """

    title: str
    source: str
    method: Any
    X: Matrix
    y: NDArray[Any]
    sample_weight: Vector | None
    expected: Mapping[str, Any]
    path: Path

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.y)

    @property
    def sides(self) -> tuple[str, ...]:
        """The forms that the method states: without a penalty the primal alone."""
        bare = getattr(self.method, "C", 1.0) == math.inf or getattr(self.method, "lam", 1.0) == 0
        return ("primal",) if bare else ("dual", "primal")

    def primal(self, form: str = "auto") -> Formulation:
        """Return the primal, in the form wanted; input that does not fit is blamed on the file."""
        with blamed_on(f"{self.path}: "):
            formulation: Formulation = self.method.primal(
                self.X, self.y, self.sample_weight, form=form
            )
        return formulation

    def dual(self) -> Formulation:
        """Return the dual; input that does not fit is blamed on the file."""
        with blamed_on(f"{self.path}: "):
            formulation: Formulation = self.method.dual(self.X, self.y, self.sample_weight)
        return formulation

    def solve(
        self, form: str = "auto", solver: str = "auto", tol: float = 1e-6, **options: Any
    ) -> Solution | Infeasible:
        """Solve as the method's own ``solve`` does; "primal" and "dual" solve those pages.

        Raises
        ------
        ProblemFileError
            If method and data do not fit together.
        InputError
            If tol is out of range.
        SolverError
            If the solver is not installed, or failed without an answer.
        """
        if (
            form == "auto" and type(self.method).solve is not Method.solve
        ):  # an algorithm of its own
            return self._solved_by_method(solver, tol, options)
        if form == "auto":
            form = "primal" if self.method.has_explicit_features() else "dual"
        if form == "dual":
            formulation = self.dual()
        else:
            formulation = self.primal("auto" if form == "primal" else form)
        return formulation.solve(solver=solver, tol=tol, **options)

    def _solved_by_method(
        self, solver: str, tol: float, options: dict[str, Any]
    ) -> Solution | Infeasible:
        with blamed_on(f"{self.path}: "):
            result: Solution | Infeasible = self.method.solve(
                self.X, self.y, self.sample_weight, solver=solver, tol=tol, **options
            )
        return result

    def check(self, solution: Solution | Infeasible) -> dict[str, Check]:
        """Compare a result with every expectation of the file, by name."""
        return compare_with(self.expected, solution)

    def __repr__(self) -> str:
        return f"<Problem {self.name}: {type(self.method).__name__}, n = {self.n}>"


def load_problem(path: str | Path) -> Problem:
    """Read a problem file, or one of the library by its name.

    Parameters
    ----------
    path : str or Path
        A file; where there is none, "xor" and "problems/xor.toml" name a problem of the library.

    Raises
    ------
    ProblemFileError
        If the file cannot be found, read or understood; the message names file, key and remedy.

    Examples
    --------
    >>> load_problem("problems/xor.toml")
    <Problem xor: HardMarginSVM, n = 4>
    """
    found = _find(Path(path))
    top = Table(str(found), "the top level", _parse(found))
    top.allow(SECTIONS)
    title, source = top.get("title", TEXT, found.stem), top.get("source", TEXT, "")
    data, stated = top.table("data", EXAMPLE["data"]), top.table("method", EXAMPLE["method"])
    method = _method(stated)
    rows = read_data(data, found.parent, square=is_precomputed(method.kernel))
    method = _with_class_weight(stated, method, rows.y.tolist())
    expected = Table(top.file, "[expected]", top.get("expected", TABLE, {}))
    return Problem(
        title=title,
        source=source,
        method=method,
        X=rows.X,
        y=rows.y,
        sample_weight=rows.sample_weight,
        expected=read_expected(expected, len(rows.y)),
        path=found,
    )


def problem_names() -> tuple[str, ...]:
    """Return the names of the library's problems, sorted.

    Examples
    --------
    >>> "xor" in problem_names()
    True
    """
    return tuple(sorted(path.stem for path in library_folder().glob("*.toml")))


def library_folder() -> Path:
    """Return where the library lies: inside the package, or beside it in a checkout."""
    package = Path(__file__).parent.parent
    carried = package / "problem_library"
    return carried if carried.is_dir() else package.parent / "problems"


def _find(path: Path) -> Path:
    """Return the file itself, or the library's file of that name."""
    if path.is_file():
        return path
    if path.is_dir():
        raise ProblemFileError(f"{path} is a folder: give one of the files in it")
    in_library = library_folder() / f"{path.stem}.toml"
    is_name = path.parent in (Path(), Path("problems")) and path.suffix in ("", ".toml")
    if is_name and in_library.is_file():
        return in_library
    close = difflib.get_close_matches(path.stem, problem_names(), n=3)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    raise ProblemFileError(
        f"{path}: there is no such file, and no problem of that name in the library: {hint}"
        f"The library has {', '.join(problem_names())}"
    )


def _parse(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        parsed = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise ProblemFileError(f"{path} is not UTF-8 text: {error}: save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ProblemFileError(f"{path} is not TOML: {error}: correct that line") from error
    except OSError as error:
        raise ProblemFileError(f"{path} cannot be read: {error.strerror}") from error
    if not parsed:
        raise ProblemFileError(f"{path} is empty: it needs {EXAMPLE['data']}, {EXAMPLE['method']}")
    return parsed


def _method(table: Table) -> Any:
    """Return the method; the keys are the parameters of its class, class_weight apart."""
    known = {method.__name__: method for method in METHODS}
    name = table.need("name", TEXT, 'name = "HardMarginSVM"')
    if name not in known:
        raise table.error(f"name = {name!r} is unknown: {remedy(name, known)}")
    table.allow(["name", *(field.name for field in dataclasses.fields(known[name]))])
    given = {k: v for k, v in table.values.items() if k not in ("name", "class_weight")}
    missing = [
        field.name
        for field in dataclasses.fields(known[name])
        if field.name not in given
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise table.error(f"{name} needs {missing[0]}")
    with table.blamed():
        return known[name](**given)


def _with_class_weight(table: Table, method: Any, labels: list[Any]) -> Any:
    """Return the method with class weights; a key is text and stands for the label it spells."""
    given = table.values.get("class_weight")
    if given is None:
        return method
    if isinstance(given, Mapping):
        spelt = {_spelling(label): label for label in labels}
        unknown = [key for key in given if key not in spelt]
        if unknown:
            raise table.error(
                f"class_weight: {unknown[0]!r} is no label: {remedy(unknown[0], spelt)}"
            )
        given = {spelt[key]: value for key, value in given.items()}
    with table.blamed():
        return dataclasses.replace(method, class_weight=given)


def _spelling(label: Any) -> str:
    """Return how a key spells a label: 1.0, as files of numbers give it, is 1."""
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if whole else str(label)
