"""How good is a model that somebody else fitted: a two-sided bound, and a verdict in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.arrays import length_of
from kernelqp.attainment import separating_direction
from kernelqp.blame import complementarity_by_row
from kernelqp.bound_search import Search
from kernelqp.certificate import as_it_came
from kernelqp.columns import largest
from kernelqp.progress import Progress
from kernelqp.repair import lower_bound
from kernelqp.scales import relative_gap, rounding_of_bounds
from kernelqp.support import SETTLED, Support, find_support, has_sets
from kernelqp.threads import threads_for
from kernelqp.tolerance import check_tol

if TYPE_CHECKING:
    from kernelqp._types import Indices, Vector
    from kernelqp.foreign import Reading


@dataclass(frozen=True, eq=False, slots=True)
class ModelCertificate:
    """What is proved about one problem that a model claims to have solved.

    All values are in the unit of ``objective``, the library's own.

    Attributes
    ----------
    name, objective : str
        The model, and the exact objective that it minimises.
    primal_value : float
        The objective at the model as it is: an upper bound on the optimum.
    dual_value : float
        A lower bound on the optimum, less what rounding may have added to it.
    best_value : float
        The objective at the best point met on the way: what the model could have reached, as far
        as was searched, which is no farther than it takes to call it converged.
    gap, relative_gap, tol : float
        primal_value − dual_value; over the scale of the problem; and what it was compared with.
    complementarity : Vector, shape (n,)
        The share of every row in the gap; NaN for rows that do not take part.
    support : Support
        The rows by role; what is in ``left`` and ``right`` is proved.
    certified : bool
        relative_gap <= tol.
    verdict : str
        In words, with the remedy.
    problems : tuple of ModelCertificate
        Every problem of a model of several; this one is the worst of them.
    """

    name: str
    objective: str
    primal_value: float
    dual_value: float
    best_value: float
    gap: float
    relative_gap: float
    tol: float
    complementarity: Vector
    support: Support | None
    certified: bool
    verdict: str
    problems: tuple[ModelCertificate, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}, {self.objective}\n{self.verdict}"


def certify(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, tol: float = 1e-3
) -> ModelCertificate:
    """Bound how far a fitted model is from the optimum of its own objective, without re-fitting.

    Parameters
    ----------
    model : fitted estimator
        scikit-learn's SVC, LinearSVC, SVR, LinearSVR, NuSVC, NuSVR, OneClassSVM, Ridge,
        KernelRidge, LogisticRegression (l2), SGDClassifier, QuantileRegressor (alpha 0), a pipeline
        that ends in one of them, or a ``kernelqp.foreign.LibsvmModel``.
    X, y, sample_weight
        The data of the fit, as they were given to it; y has no part in a OneClassSVM.
    tol : float
        The relative gap up to which the model counts as converged; solvers stop near 1e-3.

    Returns
    -------
    ModelCertificate
        Of the model's problem; of its worst one, with all in ``problems``, where there are several.

    Long work shows its progress on a terminal, and Ctrl-C ends it with the bounds found so far.

    Raises
    ------
    InputError
        If the model cannot be read (the message names it and the reason), or X, y or the weights
        are not those of the fit as far as that shows.

    Examples
    --------
    >>> import kernelqp as kq
    >>> from sklearn.svm import SVC
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> print(kq.certify(SVC(kernel="linear", C=10).fit(X, y), X, y).verdict[:9])
    Converged
    """
    from kernelqp.foreign import read  # scikit-learn's models are imported when one is asked for

    check_tol(tol)
    with threads_for(length_of(X)):
        readings = read(model, X, y, sample_weight)
        n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        found = _certify_all(readings, n, tol)
    if len(readings) == 1:
        return found[0]
    worst = max(found, key=lambda c: c.relative_gap)
    left = len(readings) - len(found)
    verdict = f"{worst.verdict} Interrupted: {left} problems were not judged." if left else None
    return replace(worst, problems=tuple(found), verdict=verdict or worst.verdict)


def _certify_all(readings: list[Reading], n: int, tol: float) -> list[ModelCertificate]:
    """Judge one problem after another; an interrupt ends it with those judged so far."""
    found: list[ModelCertificate] = []
    with Progress("certify", total=len(readings)) as progress:
        search = Search(tol, progress)
        try:
            for reading in readings:
                found.append(_certify_reading(reading, n, search))
                progress.step()
        except KeyboardInterrupt:
            if not found:
                raise
    return found


def _certify_reading(reading: Reading, n: int, search: Search) -> ModelCertificate:
    """Judge one problem: P at the model as it is, D at the best dual point that can be made."""
    risk = reading.risk.centred
    start, function, theta = as_it_came(risk, reading.candidate)
    met, tol = search.run(risk, start, function, theta), search.tol
    primal, dual, lower, scale, best = met.primal, met.dual, met.lower, met.scale, met.best
    noise = met.noise
    relative = relative_gap(primal, lower, scale, noise)
    if relative > tol and abs(primal - lower) <= noise:  # rounding alone: looked at more closely
        dual = risk.function(dual.coefficients, exactly=True)
        lower, noise = lower_bound(risk, dual), rounding_of_bounds(risk, dual, closely=True)
        relative = relative_gap(primal, lower, scale, noise)
    by_row = complementarity_by_row(risk, dual.coefficients, risk.predictions(function, theta))
    blame = _callers_shares(reading.scale * by_row, reading.rows, n)
    proved = lower - noise  # what rounding may have added is no proof
    gap = max(abs(primal - proved), noise)
    tight = relative <= SETTLED
    sets = find_support(risk, dual, function, theta, gap, tight) if has_sets(risk) else None
    width = max(abs(primal), abs(lower), scale)
    best = max(best, proved)  # its P is not less, whatever rounding says
    excess = (primal - best) / width if width > 0 else 0.0
    parts = (proved, best + noise, primal, primal + noise, gap)
    attained = separating_direction(risk) is None
    verdict = (
        _verdict(reading, relative, excess, parts, blame, tol)
        if attained
        else _not_attained(reading.scale * primal)
    )
    if search.interrupted and relative > tol:
        verdict += " Interrupted: more may be proved in more time."
    return ModelCertificate(
        name=reading.name,
        objective=reading.objective,
        primal_value=reading.scale * primal,
        dual_value=reading.scale * proved,
        best_value=reading.scale * best,
        gap=reading.scale * (primal - proved),
        relative_gap=relative,
        tol=tol,
        complementarity=blame,
        support=None if sets is None else _callers(sets, reading.rows),
        certified=bool(relative <= tol and attained),
        verdict=verdict,
    )


def _callers_shares(shares: Vector, rows: Indices, n: int) -> Vector:
    """Return what every row of the caller's has a share in; NaN for those that take no part."""
    taking_part = np.bincount(rows, minlength=n) > 0  # a row may stand in the problem twice
    return np.where(taking_part, np.bincount(rows, shares, n), np.nan)


def _callers(sets: Support, rows: Indices) -> Support:
    """Return the sets as the caller's row numbers."""
    own = (sets.support_vectors, sets.elbow, sets.left, sets.right, sets.undecided)
    if (rows[1:] > rows[:-1]).all():
        return Support(*(rows[chosen] for chosen in own))
    return Support(*(np.unique(rows[chosen]) for chosen in own))  # a row may come twice


def _not_attained(primal: float) -> str:
    """Say that there is nothing to converge to."""
    return (
        f"No optimum is attained: a plane separates the classes, rows on it allowed, and without a "
        f"penalty the loss falls for ever along it (the model is at {primal:.6g}); fit with a "
        f"finite C."
    )


def _verdict(
    reading: Reading,
    relative: float,
    excess: float,
    bounds: tuple[float, float, float, float, float],
    blame: Vector,
    tol: float,
) -> str:
    """Say in words what the bounds prove."""
    lower, best, primal, most, gap = (reading.scale * value for value in bounds)
    converged, ends = relative <= tol, (lower, most)
    of_the_problem = converged and gap > 2.0 * tol * lower  # small beside its scale, not beside P
    much = _up(gap) if lower <= 0 or of_the_problem else f"{_up(100 * gap / lower)} %"
    above = f"the objective is at most {much} above the optimum"
    if converged:
        return f"Converged: {above} (between {ends[0]:.10g} and {ends[1]:.10g})."
    order = np.sort(blame[np.unique(reading.rows)])[::-1]
    total = float(order.sum())
    count = int(np.searchsorted(np.cumsum(order), 0.9 * total)) + 1 if total > 0 else 0
    samples = "1 sample carries" if count == 1 else f"{count} samples carry"
    carried = f"{samples} 90 % of what the rows lack; " if count else ""
    remedy = _remedy(reading)
    if excess > tol:
        return (
            f"Not converged: {above} (between {lower:.6g} and {best:.6g}; the model is at "
            f"{primal:.6g}); {carried}{remedy}."
        )
    return f"Not proved: {above} (between {ends[0]:.6g} and {ends[1]:.6g}); {carried}{remedy}."


def _up(value: float) -> str:
    """Return two significant digits, rounded up: "at most" has to stay true."""
    up = float(Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(value))
    return f"{up:.0f}" if 100 <= up < 1e6 else f"{up:.2g}"  # no "4.9e+02"


def _remedy(reading: Reading) -> str:
    """Return what to do, with the size of the features where it is out of hand."""
    factor = reading.risk.gram.factor
    size = largest(factor) if factor is not None else math.nan
    words = " or ".join(reading.remedies)
    return f"{words} (max |x| is {size:.3g})" if size > 100 and "scale" in words else words
