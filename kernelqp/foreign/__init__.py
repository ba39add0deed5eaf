"""Readers of models that others fitted: one family a file, a risk and a candidate from each.

To add a family, write a reader, register it with ``@read.register``, and import its file here.
"""

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from kernelqp.foreign import kernel, libsvm, linear
from kernelqp.foreign.libsvm import LibsvmModel
from kernelqp.foreign.reading import Reading, UnreadableModel
from kernelqp.foreign.registry import read

__all__ = ["LibsvmModel", "Reading", "UnreadableModel", "kernel", "libsvm", "linear", "read"]


@read.register(Pipeline)
def read_pipeline(model: Pipeline, X: Any, y: Any, sample_weight: Any) -> list[Reading]:
    """Read the last step on what the steps before it make of X."""
    try:
        seen = model[:-1].transform(X) if len(model) > 1 else X
    except NotFittedError as error:
        raise UnreadableModel("the pipeline was not fitted: call fit first") from error
    readings: list[Reading] = read(model[-1], seen, y, sample_weight)
    return readings
