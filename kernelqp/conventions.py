"""One problem under other people's constants: C, λ, 1/(2 λ n), alpha, sigma.

    ours     1/2 ‖f‖² + C Σ ℓ_i        C = price/λ, or price/(λ n) where the loss is a mean
    theirs = ratio · ours              ratio = 1, λ, 2 λ, 2, −1

with the same minimiser. ℓ is the engine's loss (`kernelqp.losses`): the square has its half, the
squared hinge has none. Rows are counted in n, whatever their weights.

Examples
--------
>>> from kernelqp import conventions
>>> conventions.to_C(0.1, "000 (14)", n=50)
0.1
>>> conventions.translate(0.01, from_="000 (14)", to="003 (38)", n=50)
0.02
>>> conventions.value_in(3.0, "000 (1)", C=0.5)
6.0
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kernelqp.errors import ParameterError
from kernelqp.kernel_parameters import finite_number

if TYPE_CHECKING:
    from collections.abc import Mapping


HARD, HINGE, SQUARE = ("HardMargin",), ("Hinge",), ("HalfSquared",)
HINGES, LOGISTIC = ("Hinge", "SquaredHinge"), ("Logistic",)
TUBES = ("EpsilonInsensitive", "SquaredEpsilonInsensitive")
ANY = (*HINGES, "PowerHinge", *LOGISTIC, *SQUARE, *TUBES, "Pinball", "Huber")


@dataclass(frozen=True)
class Convention:
    """One way to write a regularised risk, and its way to ours.

    Parameters
    ----------
    name : str
        What it is called in :data:`CONVENTIONS`.
    objective : str
        The objective in words.
    losses : tuple of str
        The losses of `kernelqp.losses` that it is stated for.
    parameter : str
        The name of its constant: "lam", "alpha", "C", or "" where it has none.
    price : float
        C · constant, by n where ``mean``; C itself where there is no constant.
    mean : bool
        The losses are averaged over the n rows, not summed.
    factor : float
        value of the convention / value of the engine, times the constant where ``by_constant``.
    by_constant : bool
        See ``factor``.
    source : str
        A note and its equation, or a library and what differs besides.
    """

    name: str
    objective: str
    losses: tuple[str, ...]
    parameter: str
    source: str
    price: float = 1.0
    mean: bool = False
    factor: float = 1.0
    by_constant: bool = False

    @property
    def formula(self) -> str:
        """C as a formula of the constant: "C", "1/(2 λ n)", "2/λ", "1"; "none" of a hard margin."""
        if self.losses == HARD:
            return "none"
        if self.parameter in ("", "C"):
            return self.parameter or "1"
        below = [*(["2"] if self.price == 0.5 else []), self.symbol, *(["n"] if self.mean else [])]
        shown = " ".join(below)
        return f"{max(self.price, 1.0):g}/" + (f"({shown})" if len(below) > 1 else shown)

    @property
    def symbol(self) -> str:
        """The constant as the objective writes it."""
        return {"lam": "λ"}.get(self.parameter, self.parameter)

    @property
    def ratio_formula(self) -> str:
        """Value of the convention / value of the engine, as a formula: "2 λ"."""
        number = f"{self.factor:g}".replace("-", "−")
        if not self.by_constant:
            return number
        return self.symbol if self.factor == 1 else f"{number} {self.symbol}"

    def C_from(self, value: Any = None, n: Any = None) -> float:
        """Return our C for its constant (None where it has none). Raises as :func:`to_C`."""
        self._needs_C()
        if not self.parameter:
            if value is not None:
                raise ParameterError(
                    f"{self.name!r} has no constant; got {value!r}: pass None, its C is 1"
                )
            return self.price
        return self._turned(_positive(f"{self.parameter} of {self.name!r}", value), n, "C")

    def lam_from(self, C: Any, n: Any = None) -> float:
        """Return its constant (λ, alpha or C) for our C. Raises as :func:`from_C`."""
        self._needs_C()
        if not self.parameter:
            raise ParameterError(
                f"{self.name!r} has no constant to translate C={C!r} to: its C is 1"
            )
        return self._turned(_positive("C", C), n, self.parameter)

    def ratio(self, C: Any = None, n: Any = None) -> float:
        """Return value of the convention / value of the engine at our C."""
        if not self.by_constant:
            return self.factor
        return self.factor * self.lam_from(C, n)

    def _needs_C(self) -> None:
        if self.losses == HARD:
            raise ParameterError(f"{self.name!r} is a hard margin: it has no C, only a ratio")

    def _turned(self, value: float, n: Any, what: str) -> float:
        """Return price/(value n): one formula both ways. A C stays what it is."""
        if self.parameter == "C":
            return value
        rows = _rows(self.name, n) if self.mean else 1
        return _in_range(what, self.price / value / rows, f"a constant of {self.name!r}")


def _by_lam(
    name: str, objective: str, losses: tuple[str, ...], source: str, **scale: Any
) -> Convention:
    """Return a convention whose constant is λ, and whose value is a multiple of λ times ours."""
    return Convention(name, objective, losses, "lam", source, by_constant=True, **scale)


def _by_C(name: str, losses: tuple[str, ...], source: str, **scale: Any) -> Convention:
    """Return a convention in C, whose objective is ours."""
    return Convention(name, "1/2 ‖f‖² + C Σ ℓ", losses, "C", source, **scale)


def _by_alpha(name: str, objective: str, losses: tuple[str, ...], **scale: Any) -> Convention:
    """Return a convention of scikit-learn whose constant is alpha."""
    source = (
        "scikit-learn; no intercept" if name == "KernelRidge" else "scikit-learn; intercept free"
    )
    return Convention(name, objective, losses, "alpha", source, by_constant=True, **scale)


_002 = "Σ ℓ + λ/2 ‖f‖²"
CONVENTIONS: Mapping[str, Convention] = MappingProxyType(
    {
        convention.name: convention
        for convention in (
            _by_C("kernelqp", ANY, "this package"),
            _by_lam("000 (1)", "1/2 Σ r² + λ/2 ‖f‖²", SQUARE, "RegularizedLeastSquares"),
            _by_lam(
                "000 (14)", "1/n Σ ℓ + λ ‖f‖²", HINGE, "note 000", price=0.5, mean=True, factor=2.0
            ),
            _by_lam("001 ridge", "Σ r² + λ ‖f‖²", SQUARE, "note 001", factor=2.0),
            _by_lam("002 hinge", _002, HINGE, "note 002 (5), (6), (7)"),
            _by_lam("002 SVR", _002, ("EpsilonInsensitive",), "note 002"),
            _by_lam("002 quantile", _002, ("Pinball",), "note 002"),
            _by_lam("002 logistic", _002, LOGISTIC, "note 002"),
            _by_lam("002 ridge", "Σ r² + λ/2 ‖f‖²", SQUARE, "note 002", price=2.0),
            Convention("003 (3)", "‖f‖², y (f + b) >= 1", HARD, "", "note 003", factor=2.0),
            _by_lam("003 (38)", "1/n Σ ℓ + λ/2 ‖f‖²", HINGE, "note 003, Pegasos", mean=True),
            Convention("004 (2)", "1/2 ‖f‖² + Σ ℓ", HINGE, "", "note 004"),
            _by_lam("004 (4)", "Σ r² + λ/2 ‖f‖²", SQUARE, "note 004, no intercept", price=2.0),
            _by_lam("004 (7)", _002, LOGISTIC, "note 004, no intercept"),
            _by_C("SVC", HINGE, "scikit-learn; intercept free"),
            _by_C("SVR", ("EpsilonInsensitive",), "scikit-learn; intercept free"),
            _by_C("LinearSVC", HINGES, "scikit-learn; intercept penalised, ξ² by default"),
            _by_C("LogisticRegression", LOGISTIC, "scikit-learn, l2; free (liblinear: penalised)"),
            _by_alpha(
                "SGDClassifier",
                "1/n Σ ℓ + alpha/2 ‖f‖²",
                (*HINGES, *LOGISTIC),
                mean=True,
            ),
            _by_alpha("Ridge", "Σ r² + alpha ‖f‖²", SQUARE, factor=2.0),
            _by_alpha("KernelRidge", "Σ r² + alpha ‖f‖²", SQUARE, factor=2.0),
            _by_C("LIBSVM", (*HINGE, TUBES[0]), "svm-train -c; obj = −P, rho = −b", factor=-1.0),
            _by_C("LIBLINEAR", (*HINGES, *LOGISTIC, *TUBES), "train -c; -B 1 penalises b"),
        )
    }
)


def to_C(value: Any, convention: str, n: Any = None) -> float:
    """Return our C for the constant of a convention: price/(λ n), price/λ, or C itself.

    Parameters
    ----------
    value : float
        Its constant, > 0: λ, alpha or C; None where it has none.
    convention : str
        A name of :data:`CONVENTIONS`.
    n : int
        The number of rows, for conventions that average the losses.

    Raises
    ------
    ParameterError
        If the name is unknown, the convention has no C, or a number is out of its range.

    Source
    ------
    Notes 000 (14), (15), 002 (5); the objectives are those of :func:`table`.

    Examples
    --------
    >>> to_C(0.1, "002 hinge"), to_C(0.1, "003 (38)", n=20), to_C(2, "SVC")
    (10.0, 0.5, 2.0)
    """
    return named(convention).C_from(value, n)


def from_C(C: Any, convention: str, n: Any = None) -> float:
    """Return the constant of a convention for our C, the inverse of :func:`to_C`.

    Raises
    ------
    ParameterError
        As :func:`to_C`, and if the convention has no constant.

    Examples
    --------
    >>> from_C(10, "002 hinge"), from_C(0.5, "SGDClassifier", n=20)
    (0.1, 0.1)
    """
    return named(convention).lam_from(C, n)


def value_in(engine_value: Any, convention: str, C: Any = None, n: Any = None) -> float:
    """Return what an engine's value, at our C, is in a convention: ratio · value.

    Raises
    ------
    ParameterError
        As :func:`from_C`, and if the value is not finite.

    Examples
    --------
    >>> value_in(0.5, "003 (3)"), value_in(2.0, "LIBSVM", C=1), value_in(2.0, "Ridge", C=0.5)
    (1.0, -2.0, 8.0)
    """
    value = finite_number("engine_value", engine_value)
    return named(convention).ratio(C, n) * value


def translate(value: Any, *, from_: str, to: str, n: Any = None) -> float:
    """Return the constant of one convention for that of another, of the same minimiser.

    Raises
    ------
    ParameterError
        As :func:`to_C` and :func:`from_C`, and if the two have no loss in common.

    Examples
    --------
    >>> translate(0.1, from_="000 (14)", to="SVC", n=50)
    0.1
    >>> translate(0.1, from_="Ridge", to="SVC")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    kernelqp.errors.ParameterError: to='SVC' is stated for Hinge, from_='Ridge' for HalfSquared: ...
    """
    source, target = named(from_, "from_"), named(to, "to")
    if not set(source.losses) & set(target.losses):
        raise ParameterError(
            f"to={to!r} is stated for {', '.join(target.losses)}, from_={from_!r} for "
            f"{', '.join(source.losses)}: no constant makes these one problem; "
            f"translate between conventions of one loss"
        )
    return target.lam_from(source.C_from(value, n), n)


def gamma_of_sigma(sigma: Any) -> float:
    """Return γ = 1/(2 σ²) of a Gaussian kernel's width σ, in units of x.

    Raises
    ------
    ParameterError
        If sigma is not a finite number > 0, or γ is beyond floating point.

    Examples
    --------
    >>> gamma_of_sigma(2)
    0.125
    """
    sigma = _positive("sigma", sigma)
    return _in_range("gamma", 0.5 / sigma / sigma, "sigma")


def sigma_of_gamma(gamma: Any) -> float:
    """Return σ = 1/√(2 γ), the inverse of :func:`gamma_of_sigma`.

    Raises
    ------
    ParameterError
        If gamma is not a finite number > 0.

    Examples
    --------
    >>> sigma_of_gamma(0.125)
    2.0
    """
    return math.sqrt(0.5) / math.sqrt(_positive("gamma", gamma))


def named(name: Any, argument: str = "convention") -> Convention:
    """Return a convention by its name.

    Raises
    ------
    ParameterError
        If there is none of that name.

    Examples
    --------
    >>> named("000 (14)").formula
    '1/(2 λ n)'
    """
    if isinstance(name, str) and name in CONVENTIONS:
        return CONVENTIONS[name]
    lower = {known.lower(): known for known in CONVENTIONS}
    close = difflib.get_close_matches(str(name).lower(), lower, n=1)
    hint = f"did you mean {lower[close[0]]!r}? " if close else "use one that is known. "
    raise ParameterError(f"{argument} {name!r} is unknown: {hint}Known: {', '.join(CONVENTIONS)}")


def table() -> str:
    r"""Return all conventions as a plain table.

    Examples
    --------
    >>> print("\n".join(table().splitlines()[:4]))
    convention          objective               C            value / ours  source
    kernelqp            1/2 ‖f‖² + C Σ ℓ        C            1             this package
    000 (1)             1/2 Σ r² + λ/2 ‖f‖²     1/λ          λ             RegularizedLeastSquares
    000 (14)            1/n Σ ℓ + λ ‖f‖²        1/(2 λ n)    2 λ           note 000
    """
    rows = [("convention", "objective", "C", "value / ours", "source")]
    rows += [
        (c.name, c.objective, c.formula, c.ratio_formula, c.source) for c in CONVENTIONS.values()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (zip(row, widths, strict=True) for row in rows)
    return "\n".join("  ".join(cell.ljust(w) for cell, w in line).rstrip() for line in lines)


def _positive(name: str, value: Any) -> float:
    return finite_number(name, value, above=0, also=" (0 and infinity are limits, not scalings)")


def _rows(name: str, n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        raise ParameterError(
            f"n must be an integer >= 1, for {name!r} averages over the rows; got {n!r}: "
            f"pass n=len(y)"
        )
    return int(n)


def _in_range(name: str, found: float, of: str) -> float:
    if not 0 < found < math.inf:
        raise ParameterError(f"{name} would be {found!r}: use {of} nearer to 1, or rescale X")
    return found
