"""What a tolerance may be: one home for everything that takes one."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from kernelqp.errors import ParameterError


def check_tol(tol: Any) -> None:
    """Raise ParameterError unless tol is a positive finite number."""
    number = not isinstance(tol, bool) and isinstance(tol, Real)
    if not (number and math.isfinite(tol) and tol > 0):
        raise ParameterError(f"tol must be a positive number; got {tol!r}: pass one like 1e-6")
