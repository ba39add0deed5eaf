"""How good is a model that somebody else fitted: a two-sided bound, and a verdict in words."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kernelqp.arrays import length_of
from kernelqp.bound_search import Search
from kernelqp.judgement import Judgement, judge, report
from kernelqp.model_certificate import ModelCertificate, Problems
from kernelqp.progress import Progress
from kernelqp.threads import threads_for
from kernelqp.tolerance import check_tol

if TYPE_CHECKING:
    from kernelqp.foreign import Reading


def certify(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, tol: float = 1e-3
) -> ModelCertificate:
    """Bound how far a fitted model is from the optimum of its own objective, without re-fitting.

    Parameters
    ----------
    model : fitted estimator
        scikit-learn's SVC, LinearSVC, SVR, LinearSVR, NuSVC, NuSVR, OneClassSVM, Ridge,
        KernelRidge, LogisticRegression (l2 or C = inf; of two classes, or by liblinear),
        SGDClassifier (l2; hinge, squared_hinge, log_loss), QuantileRegressor (alpha=0), a pipeline
        that ends in one of them, or a ``kernelqp.foreign.LibsvmModel``.
    X, y, sample_weight
        The data of the fit, as they were given to it; y has no part in a OneClassSVM.
    tol : float
        The relative gap up to which the model counts as converged; solvers stop near 1e-3. Relative
        to P, or, where P is less, to min(P at f = 0, s²/mean K_ii), s the size of a target.

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
        judged = _judge_all(readings, tol)
        if len(readings) == 1:
            return report(judged[0], n)
        return _of_several(judged, n, len(readings) - len(judged))


def _judge_all(readings: list[Reading], tol: float) -> list[Judgement]:
    """Judge one problem after another; an interrupt ends it with those judged so far."""
    judged: list[Judgement] = []
    with Progress("certify", total=len(readings)) as progress:
        search = Search(tol, progress)
        try:
            for reading in readings:
                judged.append(judge(reading, search))
                progress.step()
        except KeyboardInterrupt:
            if not judged:
                raise
    return judged


def _of_several(judged: list[Judgement], n: int, left: int) -> ModelCertificate:
    """Return the certificate of the worst problem; ``left`` problems were not judged."""
    problems = Problems([partial(report, one.without_kernel(), n) for one in judged])
    worst = problems[max(range(len(judged)), key=lambda k: judged[k].relative)]
    more = f" Interrupted: {left} problems were not judged." if left else ""
    return replace(worst, problems=problems, verdict=worst.verdict + more)
