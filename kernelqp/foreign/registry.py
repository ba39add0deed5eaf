"""The table of families: which reader reads which type."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

from kernelqp.foreign.reading import UnreadableModel

if TYPE_CHECKING:
    from kernelqp.foreign.reading import Reading

FAMILIES = (
    "SVC, LinearSVC, SVR, LinearSVR, NuSVC, NuSVR, OneClassSVM, Ridge, KernelRidge, "
    "LogisticRegression (l2 or C = inf; of two classes, or by liblinear), SGDClassifier (l2; "
    "hinge, squared_hinge, log_loss), QuantileRegressor (alpha=0), pipelines that end in one of "
    "them, and LIBSVM model files"
)


@singledispatch
def read(model: Any, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """Return the problems that a fitted model claims to have solved; refuse an unknown type."""
    del X, y, sample_weight
    if isinstance(model, type):
        raise UnreadableModel(
            f"{model.__name__} cannot be certified: it is a class; pass a fitted model"
        )
    kind = type(model)
    inside = ""
    if hasattr(model, "best_estimator_"):
        inside = "; certify its best_estimator_"
    elif kind.__module__ == "sklearn.multiclass" and hasattr(model, "estimators_"):
        inside = "; certify each of its estimators_, on the rows and labels that it was fitted on"
    raise UnreadableModel(
        f"{kind.__module__}.{kind.__name__} cannot be certified: no reader knows it{inside}. There "
        f"are readers of {FAMILIES}"
    )
