"""The [expected] table of a problem file, and how a result is compared with it.

A value is right to a relative tolerance t (`tolerance`, 1e-6; a value of 0 to t itself). What
describes the point (α, w, b, the margin) is off by the square root of the gap, so it is right to
the larger of t and √(relative gap) of its size: a result that is exact is held to t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.errors import Status
from kernelqp.problem_file.table import (
    INTEGER,
    LIST,
    NUMBER,
    TEXT,
    Table,
    is_kind,
    is_numbers,
    remedy,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelqp.solution import Infeasible, Solution

TOLERANCE = 1e-6

NUMBERS = ("geometric_margin", "multiplier", "lam")  # attributes of a solution, as they are


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """One expectation: what was wanted, what came (None where there is none), whether it is met."""

    want: Any
    got: Any
    ok: bool


def read_expected(table: Table, n: int) -> Mapping[str, Any]:
    """Read the [expected] table of a problem with n rows; empty where nothing is expected.

    Raises
    ------
    ProblemFileError
        If a key is unknown, or a value is of another kind, length or range than it must be.
    """
    table.allow(("tolerance", *EXPECTATIONS))
    for key, value in table.values.items():
        wanted = _complaint(key, value, n)
        if wanted:
            raise table.error(f"{key} must be {wanted}; got {value!r}")
    read = dict(table.values)
    if "status" in read:
        read["status"] = read["status"].upper()
    return MappingProxyType(read)


def compare_with(expected: Mapping[str, Any], result: Solution | Infeasible) -> dict[str, Check]:
    """Compare a result with every expectation, by name."""
    tolerance = float(expected.get("tolerance", TOLERANCE))
    return {
        key: EXPECTATIONS[key](result, want, tolerance)
        for key, want in expected.items()
        if key != "tolerance"
    }


def _complaint(key: str, value: Any, n: int) -> str:
    """Return what the value must be, or nothing if it is that."""
    if key == "tolerance":
        fine = is_kind(value, NUMBER) and 0 < value < 1
        return "" if fine else "a number between 0 and 1"
    if key == "status":
        known = [status.name for status in Status]
        fine = is_kind(value, TEXT) and value.upper() in known
        return "" if fine else f"a status ({remedy(value, known)})"
    if key in ("value", "intercept", *NUMBERS):
        fine = is_kind(value, NUMBER) and math.isfinite(value)
        return "" if fine else "a finite number"
    if key == "intercept_interval":
        fine = is_kind(value, LIST) and len(value) == 2 and all(is_kind(v, NUMBER) for v in value)
        return "" if fine and value[0] <= value[1] else "two numbers [low, high]"
    if key in ("support_vectors", "n_support"):
        return _complaint_of_rows(key, value, n)
    length = "" if key == "weights" else f" of length {n}, one for each row"
    fine = is_numbers(value) and (key == "weights" or len(value) == n)
    return "" if fine else f"a list of finite numbers{length}"


def _complaint_of_rows(key: str, value: Any, n: int) -> str:
    count = is_kind(value, INTEGER) and 0 <= value <= n
    if key == "n_support":
        return "" if count else f"a count between 0 and {n}"
    rows = is_kind(value, LIST) and all(is_kind(v, INTEGER) and 0 <= v < n for v in value)
    return "" if count or rows else f"a list of rows between 0 and {n - 1}, or a count"


# --- the comparisons ----------------------------------------------------------------------------


def _shown(result: Solution | Infeasible, name: str) -> Any:
    """Return an attribute of a result; None where it has none."""
    return getattr(result, name, None)


def _reach(result: Solution | Infeasible, tolerance: float) -> float:
    """Return how far, relative to its size, the point of a result may be from the expected one."""
    certificate = _shown(result, "certificate")
    gap = 0.0 if certificate is None else certificate.relative_gap
    return max(tolerance, math.sqrt(max(gap, 0.0)))


def _close(got: Any, want: Any, size: float, tolerance: float) -> bool:
    """Whether got is within tolerance · size of want, entry by entry; infinities must be equal."""
    got, want = np.asarray(got, dtype=np.float64), np.asarray(want, dtype=np.float64)
    if got.shape != want.shape:
        return False
    return bool(np.isclose(got, want, rtol=0.0, atol=tolerance * size).all())


def _value(result: Solution | Infeasible, want: float, tolerance: float) -> Check:
    got = _shown(result, "value")
    return Check(want, got, got is not None and _close(got, want, abs(want) or 1.0, tolerance))


def _vector(name: str) -> Callable[[Solution | Infeasible, list[float], float], Check]:
    def compare(result: Solution | Infeasible, want: list[float], tolerance: float) -> Check:
        got = _shown(result, name)
        size = float(np.abs(want).max(initial=0.0)) or 1.0
        ok = got is not None and _close(got, want, size, _reach(result, tolerance))
        return Check(want, None if got is None else got.tolist(), ok)

    return compare


def _number(name: str) -> Callable[[Solution | Infeasible, float, float], Check]:
    def compare(result: Solution | Infeasible, want: float, tolerance: float) -> Check:
        got = _shown(result, name)
        ok = got is not None and _close(got, want, abs(want) or 1.0, _reach(result, tolerance))
        return Check(want, got, ok)

    return compare


def _intercept(result: Solution | Infeasible, want: float, tolerance: float) -> Check:
    """B is in the unit of a margin, which is 1."""
    got = _shown(result, "intercept")
    ok = got is not None and _close(got, want, max(1.0, abs(want)), _reach(result, tolerance))
    return Check(want, got, ok)


def _interval(result: Solution | Infeasible, want: list[float], tolerance: float) -> Check:
    """Both ends, and the intercept between them."""
    got, b = _shown(result, "intercept_interval"), _shown(result, "intercept")
    if got is None or b is None:
        return Check(want, None, ok=False)
    size = max(1.0, *(abs(v) for v in want if math.isfinite(v)))
    reach = _reach(result, tolerance)
    inside = want[0] - reach * size <= b <= want[1] + reach * size
    return Check(want, list(got), _close(got, want, size, reach) and inside)


def _support(result: Solution | Infeasible, want: int | list[int], tolerance: float) -> Check:  # noqa: ARG001
    """Return the comparison of the support vectors: as a set of rows, or their number."""
    support = _shown(result, "support")
    if support is None:
        return Check(want, None, ok=False)
    rows = support.support_vectors.tolist()
    if isinstance(want, int):
        return Check(want, len(rows), len(rows) == want)
    return Check(want, rows, rows == sorted(set(want)))


def _status(result: Solution | Infeasible, want: str, tolerance: float) -> Check:  # noqa: ARG001
    return Check(want, result.status.name, result.status.name == want)


EXPECTATIONS: dict[str, Callable[[Any, Any, float], Check]] = {
    "value": _value,
    "status": _status,
    "alpha": _vector("alpha"),
    "beta": _vector("beta"),
    "weights": _vector("weights"),
    "slack": _vector("slack"),
    "residuals": _vector("residuals"),
    "intercept": _intercept,
    "intercept_interval": _interval,
    **{name: _number(name) for name in NUMBERS},
    "support_vectors": _support,
    "n_support": _support,
}
