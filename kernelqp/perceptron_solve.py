"""The perceptron run to its end: certified as a hard margin, or with a trace of it all.

Where f = Σ y_i m_i k(x_i, ·) separates the classes with smallest margin m, f/m is a point of the
hard margin, and P = ‖f‖²/(2 m²) its value. The counts m, multiplied by any t >= 0, are a point of
the dual; the best t gives D = (Σ m_i)²/(2 ‖f‖²), and one majorised step more.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.certificate import certify_as_it_stands
from kernelqp.errors import Status
from kernelqp.own_point import in_own_words
from kernelqp.perceptron_run import PerceptronRun
from kernelqp.progress import Progress
from kernelqp.repair import best_scaling, repair_dual, separating
from kernelqp.traces import PerceptronTrace, end_of, in_rows, in_weights, read_indices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelqp.formulation import Formulation
    from kernelqp.risk import RegularizedRisk
    from kernelqp.solution import Solution


def learn(method: Any, formulation: Formulation, tol: float) -> Solution:
    """Run the epochs of a ``Perceptron`` and judge its plane as a hard margin.

    Ctrl-C ends it with what it has learnt.
    """
    started, risk = time.perf_counter(), formulation.risk()
    run = PerceptronRun(risk, in_weights=risk.gram.factor is not None)
    with Progress("perceptron", total=method.epochs) as progress:
        try:
            for made in visits(method, run):
                progress.step()
                progress.say(f"{sum(made)} mistakes in an epoch, {run.mistakes} in all")
        except KeyboardInterrupt:
            if not run.counts.any():
                raise
    function, _ = separating(risk, in_own_words(risk, run.beta()))
    counted = best_scaling(risk, risk.function(run.beta()))
    dual = repair_dual(risk, counted, np.zeros(0))
    verdict = certify_as_it_stands(risk, function, dual, tol)
    separated = math.isfinite(verdict.certificate.primal_value)
    status = Status.NOT_CERTIFIED if separated else Status.LIMIT
    if verdict.certificate.certified:
        status = Status.CERTIFIED
    seconds = time.perf_counter() - started
    solution = formulation.adopt(verdict, status, "perceptron", seconds)
    data: Any = formulation.page.data
    return solution.showing(counts=in_rows(data, run.counts), mistakes=int(run.counts.sum()))


def visits(method: Any, run: PerceptronRun) -> Iterator[list[bool]]:
    """Yield the mistakes of epoch after epoch, up to one without any."""
    for _ in range(method.epochs):
        made = run.visit(range(run.risk.n))
        yield made
        if not any(made):
            return


def trace(
    method: Any, page: Any, risk: RegularizedRisk, indices: Any, form: str
) -> PerceptronTrace:
    """Run the epochs of a ``Perceptron``, or the given rows, and return what happened."""
    run = PerceptronRun(risk, in_weights=in_weights(risk, form))
    if indices is None:
        made = [mistake for epoch in visits(method, run) for mistake in epoch]
        rows = np.arange(len(made)) % risk.n
    else:
        rows = read_indices(indices, page.data, (1,))
        made = run.visit(rows.tolist())
    end = end_of(page, risk, run.beta(), run.counts)
    return PerceptronTrace(
        indices=page.data.rows[rows],
        acted=np.array(made),
        mistakes=run.mistakes,
        separated=run.separates(),
        **end,
    )
