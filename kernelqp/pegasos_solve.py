"""Pegasos run to its end: with a look at the bounds after every epoch, or with a trace."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.errors import Status
from kernelqp.own_point import Looks, in_own_words
from kernelqp.pegasos_run import PegasosRun, batches, epochs_of
from kernelqp.progress import Progress
from kernelqp.traces import PegasosTrace, end_of, in_rows, in_weights, read_indices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelqp.formulation import Formulation
    from kernelqp.risk import RegularizedRisk
    from kernelqp.solution import Solution

FEW = 16  # steps: a look at the bounds costs about as much


def descend(method: Any, formulation: Formulation, tol: float) -> Solution:
    """Run the epochs of a ``Pegasos`` on its primal until the gap is at most tol; certify f.

    Ctrl-C ends it with the best f that was looked at.
    """
    started, risk = time.perf_counter(), formulation.risk()
    share, _ = steps_of(method, risk.n)
    run = _start(method, risk, share, weights=risk.gram.factor is not None)
    with Progress("Pegasos", total=method.epochs) as progress:
        looks = Looks(risk, tol, progress)
        try:
            _until_certified(method, run, looks, progress)
            function, counts = in_own_words(risk, run.beta()), run.counts
        except KeyboardInterrupt:
            if looks.best is None:
                raise
            looks.stop()
            function, counts = looks.best.function, looks.best.counts
        verdict = looks.verdict(function)
    status = Status.CERTIFIED if verdict.certificate.certified else Status.LIMIT
    seconds = time.perf_counter() - started
    solution = formulation.adopt(verdict, status, "Pegasos", seconds)
    data: Any = formulation.page.data
    history = looks.history * np.array([1.0, method.lam, method.lam])
    return solution.showing(counts=in_rows(data, counts), history=history)


def _until_certified(method: Any, run: PegasosRun, looks: Looks, progress: Progress) -> None:
    """Run epoch after epoch, with a look at the bounds after each, of few steps after 16."""
    share, epochs = steps_of(method, run.risk.n)
    every = -(-FEW // share)
    for epoch, steps in enumerate(epochs, 1):
        for rows in steps:
            run.step(rows)
        progress.step()
        if epoch % every and epoch < method.epochs:
            continue
        if looks.look(run.beta(), run.t, run.counts) or looks.interrupted:
            return


def trace(
    method: Any, page: Any, risk: RegularizedRisk, indices: Any, form: str, *, record: bool
) -> PegasosTrace:
    """Run all epochs of a ``Pegasos``, or the given rows, and return what happened."""
    share, steps = _given_steps(method, page, indices)
    run, rows, acted, path = _start(method, risk, share, weights=in_weights(risk, form)), [], [], []
    for step in steps:
        acted.append(run.step(step))
        rows.append(np.atleast_1d(np.arange(risk.n)[step]))
        if record:
            path.append(end_of(page, risk, run.beta(), run.counts))
    explicit = record and risk.gram.factor is not None
    return PegasosTrace(
        indices=page.data.rows[np.concatenate(rows)],
        acted=np.concatenate(acted),
        steps=np.repeat(np.arange(1, len(rows) + 1), [len(r) for r in rows]),
        beta_by_step=np.array([end["beta"] for end in path]) if record else None,
        weights_by_step=np.array([end["weights"] for end in path]) if explicit else None,
        **end_of(page, risk, run.beta(), run.counts),
    )


def _given_steps(method: Any, page: Any, indices: Any) -> tuple[float, Iterable[Any]]:
    """Return B and the rows of every step."""
    if indices is None:
        share, epochs = steps_of(method, page.n)
        return share, (rows for steps in epochs for rows in steps)
    found = read_indices(indices, page.data, (1, 2))
    if found.ndim == 1:
        return page.n, found.tolist()
    return page.n / found.shape[1], list(found)


def steps_of(method: Any, n: int) -> tuple[int, Iterable[list[Any]]]:
    """Return B, and the rows of the steps of every epoch."""
    size = n if isinstance(method.batch, str) else min(method.batch, n)
    return batches(n, size), epochs_of(n, size, method.seed, method.epochs)


def _start(method: Any, risk: RegularizedRisk, share: float, *, weights: bool) -> PegasosRun:
    return PegasosRun(
        risk, share, project=method.project, average=method.average, in_weights=weights
    )
