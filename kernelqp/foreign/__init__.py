"""Readers of models that others fitted: one family a file, a risk and a candidate from each.

To add a family, write a reader, register it with ``@read.register``, and import its file here.
"""

import warnings
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from kernelqp.errors import DataError
from kernelqp.foreign import kernel, libsvm, linear, nu
from kernelqp.foreign.libsvm_file import LibsvmModel
from kernelqp.foreign.reading import Reading, UnreadableModel, refuse
from kernelqp.foreign.registry import read

__all__ = ["LibsvmModel", "Reading", "UnreadableModel", "kernel", "libsvm", "linear", "nu", "read"]

CROSS_FITTED = ("TargetEncoder",)  # fit_transform is no transform of the fit


@read.register(Pipeline)
def read_pipeline(model: Pipeline, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """Read the last step on what the steps before it make of X."""
    for _, step in model.steps[:-1]:
        if type(step).__name__ in CROSS_FITTED:
            raise refuse(
                model,
                f"its step {type(step).__name__} gives other features to the fit than transform "
                f"does; certify the last step on what fit_transform returned",
            )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # names of columns, and the like
            seen = model[:-1].transform(X) if len(model) > 1 else X
    except NotFittedError as error:
        raise UnreadableModel("the pipeline was not fitted: call fit first") from error
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise DataError(f"the pipeline cannot transform X: {error}") from error
    readings: list[Reading] = read(model[-1], seen, y, sample_weight)
    return readings
