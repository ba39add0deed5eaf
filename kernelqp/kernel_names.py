"""Kernels by name: of a problem file's table, of a word as scikit-learn has it, of a callable."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

from kernelqp.errors import KernelError
from kernelqp.kernel_parameters import did_you_mean
from kernelqp.kernels import (
    RBF,
    CallableKernel,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)

NAMES: dict[str, type[Kernel]] = {
    "linear": Linear,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "rbf": RBF,
    "laplacian": Laplacian,
    "sigmoid": Sigmoid,
    "precomputed": Precomputed,
}


def resolve(kernel: object) -> Kernel:
    """Kernel of a kernel object, a name with SVC's defaults, a mapping, or a callable.

    Raises
    ------
    KernelError
        If it is none of these.

    Examples
    --------
    >>> resolve("poly")
    Polynomial(degree=3, constant=0.0)
    """
    if isinstance(kernel, str):
        return _named(kernel)()
    if isinstance(kernel, Mapping):
        return from_mapping(kernel)
    if isinstance(kernel, type):
        raise KernelError(f"kernel must be an object; got the class: write {kernel.__name__}()")
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return CallableKernel(kernel)
    raise KernelError(f"kernel must be a name, an object such as RBF() or a callable: {kernel!r}")


def from_mapping(table: Mapping[str, Any]) -> Kernel:
    """Kernel of a table such as {name = "rbf", gamma = 0.5} in a problem file.

    Raises
    ------
    KernelError, ParameterError
        If the name or a key is unknown, or a value is outside its range.

    Examples
    --------
    >>> from_mapping({"name": "polynomial", "degree": 2, "gamma": 1, "constant": 1})
    Polynomial(degree=2, gamma=1.0, constant=1.0)
    """
    parameters = dict(table)
    kind = _named(parameters.pop("name", None))
    allowed = [field.name for field in fields(cast("Any", kind))]
    unknown = [key for key in parameters if key not in allowed]
    if unknown:
        what = f"kernel {table['name']!r} has no parameter {unknown[0]!r}"
        raise KernelError(f"{what}{did_you_mean(unknown[0], allowed)} Known: {allowed}")
    return kind(**parameters)


def _named(name: object) -> type[Kernel]:
    if isinstance(name, str) and name in NAMES:
        return NAMES[name]
    known = f"{did_you_mean(name, NAMES)} Known: {', '.join(NAMES)}"
    raise KernelError(f"kernel {name!r} is unknown{known}")
