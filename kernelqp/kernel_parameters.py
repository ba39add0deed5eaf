"""The parameters of kernels, checked where a kernel is constructed, and gamma as a number."""

import difflib
import math
from collections.abc import Iterable
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from kernelqp._types import Matrix
from kernelqp.errors import KernelError, ParameterError

Gamma = float | str | None


def set_fields(kernel: object, /, **values: object) -> None:
    """Set fields of a frozen kernel; for its ``__post_init__`` only."""
    for name, value in values.items():
        object.__setattr__(kernel, name, value)


def finite_number(
    name: str,
    value: object,
    above: float = -math.inf,
    at_least: float = -math.inf,
    also: str = "",
) -> float:
    """Return a number as a float: finite, above < value and at_least <= value.

    Raises
    ------
    ParameterError
        If it is no such number; truth values and texts are none. `also` is what else is allowed.

    Examples
    --------
    >>> finite_number("gamma", 1, above=0)
    1.0
    """
    number = math.nan
    if not isinstance(value, bool) and isinstance(value, Real):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not (above < number < math.inf and at_least <= number):
        bound = f" > {above:g}" if above > -math.inf else ""
        bound += f" >= {at_least:g}" if at_least > -math.inf else ""
        raise ParameterError(f"{name} must be a finite number{bound}{also}; got {value!r}")
    return number


def positive_integer(name: str, value: object) -> int:
    """Return an integer >= 1 as an int.

    Raises
    ------
    ParameterError
        If it is no such integer; 2.0 and truth values are none.

    Examples
    --------
    >>> positive_integer("degree", np.int64(2))
    2
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ParameterError(f"{name} must be an integer >= 1; got {value!r}")
    return int(value)


def checked_gamma(gamma: Gamma) -> Gamma:
    """Return gamma > 0 as a float; "scale", "auto" and None stay, for `numeric_gamma`.

    Raises
    ------
    ParameterError
        If it is none of these.

    Examples
    --------
    >>> checked_gamma(1), checked_gamma("scale")
    (1.0, 'scale')
    """
    if gamma is None or gamma in ("scale", "auto"):
        return gamma
    return finite_number("gamma", gamma, above=0, also=', "scale" or "auto"')


@np.errstate(all="ignore")
def numeric_gamma(gamma: Gamma, X: Matrix) -> float:
    """Return the number that gamma means on the rows X, shape (n, d), units 1/[x]^2.

        "scale", None   1 / (d var X), and 1 where X is constant
        "auto"          1 / d

    Raises
    ------
    KernelError
        If the variance is beyond floating point.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [2.0, 2.0]])
    >>> numeric_gamma("scale", X), numeric_gamma("auto", X)
    (0.5, 0.5)
    """
    if isinstance(gamma, float):
        return gamma
    X = points(X)
    if gamma == "auto":
        return 1.0 / len(X.T)
    if X.min() == X.max():  # var() of a constant 0.1 is 1e-34, not 0
        return 1.0
    scale = float(1.0 / np.float64(X.shape[1] * X.var()))
    if not 0 < scale < math.inf:
        raise KernelError('kernel: gamma="scale" overflows on this X: scale the features')
    return scale


def points(X: ArrayLike) -> Matrix:
    """Return X, shape (n, d), as float64: products of small integers would wrap around."""
    return np.asarray(X, dtype=np.float64)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return ": did you mean ...?" with the nearest known word, "." where none is near.

    Examples
    --------
    >>> did_you_mean("gama", ["gamma", "sigma"])
    ": did you mean 'gamma'?"
    """
    close = difflib.get_close_matches(str(word).lower(), known, n=1)
    return f": did you mean {close[0]!r}?" if close else "."
