"""Gradients through a cvxpy expression tree, with the size of the terms that cancel in them.

cvxpy's `.grad` gives a sum; whether 1e-6 is small depends on what was summed. A `Sweep` walks
the same chain rule once backwards and carries two vectors: J · seed, and |J| · |seed|. Of a
quadratic atom q(A x + c) the parts A'∇q(c) and A'(∇q(A x + c) − ∇q(c)) are two terms: at the
optimum of a least-squares fit their sum is 0, and each of them is |A'b|.

Affine subtrees are taken whole, by `.grad`: then the size of a row is sum |A||x| + |const|.
Curvature is never asked for: cvxpy would answer for `quad_form` with an eigenvalue computation.
"""

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.expressions.leaf import Leaf

from kernelqp._types import Vector

ROUNDING = 1e-12  # of the size of a row, below which its constant is rounding
PERFECT_FIT = 1e-3  # of the size of the data, below which a sum of squares is judged by the data


def flat(value: object) -> Vector:
    """Ravel in cvxpy's "F" order; shapes (), (1,) and sparse matrices alike."""
    dense = value.toarray() if isinstance(value, sp.sparray | sp.spmatrix) else value
    return np.asarray(dense, dtype=float).ravel(order="F")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Read expressions of sparse variables without cvxpy's advice to read them as sparse."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Reading from a sparse CVXPY expression")
        yield


class GradientError(Exception):
    """An expression has no gradient here: a domain edge, or an atom without one."""


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """A x + constant: Jacobians by variable, shape (x.size, size), and sizes by row."""

    jacobians: dict[cp.Variable, sp.csr_array]
    constant: Vector
    linear_size: Vector


@dataclass(slots=True, eq=False)
class Gradient:
    """∂L/∂x for one variable, and the sum of |terms| of each entry."""

    value: Vector
    size: Vector


@dataclass(slots=True, eq=False)
class Sweep:
    """Chain rule with sizes, at the current values of the variables; remembers affine parts."""

    _affine: dict[int, Affine] = field(default_factory=dict)

    def gradient(
        self, pieces: list[tuple[cp.Expression, Vector]], variables: list[cp.Variable]
    ) -> dict[cp.Variable, Gradient]:
        """Gradient of Σ coefficientᵀ expression; raises GradientError where there is none."""
        into: dict[cp.Variable, Gradient] = {
            v: Gradient(np.zeros(v.size), np.zeros(v.size)) for v in variables
        }
        for expression, coefficient in pieces:
            self._pull(expression, coefficient, np.abs(coefficient), into)
        if not all(np.isfinite(g.value).all() for g in into.values()):
            msg = "the gradient is not finite"
            raise GradientError(msg)
        return into

    def _pull(
        self,
        expression: cp.Expression,
        seed: Vector,
        size: Vector,
        into: dict[cp.Variable, Gradient],
    ) -> None:
        """Push a seed on `expression` down to the variables."""
        if expression.is_constant():
            return
        if is_affine_tree(expression):
            for variable, jacobian in self.affine(expression).jacobians.items():
                into[variable].value += jacobian @ seed
                into[variable].size += abs(jacobian) @ size
            return
        for arg, local, bound in self._locals(expression):
            self._pull(arg, local @ seed, bound @ size, into)

    def _locals(
        self, expression: cp.Expression
    ) -> list[tuple[cp.Expression, sp.csr_array, sp.csr_array]]:
        """Jacobian with respect to each argument that varies, and the size of its terms."""
        here = _local_jacobians(expression, [arg.value for arg in expression.args])
        if not is_quadratic_atom(expression):
            return [(arg, jacobian, abs(jacobian)) for arg, jacobian in here]
        (arg, jacobian), *_ = here
        offset = self.affine(arg).constant
        if not offset.any():
            return [(arg, jacobian, abs(jacobian))]
        (_, at_offset), *_ = _local_jacobians(expression, _values_at(expression, arg, offset))
        return [(arg, jacobian, abs(jacobian - at_offset) + abs(at_offset))]

    def size(self, expression: cp.Expression, *, offsets: bool = True) -> Vector:
        """Sum of the |terms| of each entry: |A||x| + |const| for an affine expression.

        `offsets=False` leaves out what is merely added, such as a constant in an objective.
        """
        if expression.is_constant():
            return np.asarray(np.abs(flat(expression.value)) * offsets)
        if is_affine_tree(expression):
            affine = self.affine(expression)
            return np.asarray(affine.linear_size + np.abs(affine.constant) * offsets)
        if is_quadratic_atom(expression):
            return self._quadratic_size(expression)
        if isinstance(expression, AffAtom):
            return self._combination_size(expression, offsets=offsets)
        return np.abs(flat(expression.value))

    def _combination_size(self, expression: cp.Expression, *, offsets: bool) -> Vector:
        """Size of a linear combination of curved expressions."""
        here = _local_jacobians(expression, [arg.value for arg in expression.args])
        constant = flat(expression.value) - sum(J.T @ flat(arg.value) for arg, J in here)
        sizes = sum(abs(J).T @ self.size(arg, offsets=offsets) for arg, J in here)
        constant[np.abs(constant) <= ROUNDING * sizes] = 0.0
        return np.asarray(sizes + np.abs(constant) * offsets)

    def _quadratic_size(self, expression: cp.Expression) -> Vector:
        """|q|, or where a fit is nearly perfect a share of the terms that cancel in it.

        The terms of q(A x + c) are q(c), ∇q(c)ᵀ A x and the rest.
        """
        (arg, _), *_ = _local_jacobians(expression, [a.value for a in expression.args])
        offset, total = self.affine(arg).constant, flat(expression.value)
        if not offset.any():
            return np.abs(total)
        values = _values_at(expression, arg, offset)
        constant = flat(expression.numeric(values))
        (_, slope), *_ = _local_jacobians(expression, values)
        linear = slope.T @ (flat(arg.value) - offset)
        terms = np.abs(constant) + np.abs(linear) + np.abs(total - constant - linear)
        return np.asarray(np.maximum(np.abs(total), PERFECT_FIT * terms))

    def affine(self, expression: cp.Expression) -> Affine:
        """Jacobians and constant of an affine expression, computed once."""
        known = self._affine.get(id(expression))
        if known is None:
            known = self._affine[id(expression)] = _affine(expression)
        return known


def _affine(expression: cp.Expression) -> Affine:
    jacobians = {
        variable: _matrix(jacobian, variable.size, expression.size)
        for variable, jacobian in expression.grad.items()
    }
    total = flat(expression.value)
    linear, size = np.zeros(total.size), np.zeros(total.size)
    for variable, jacobian in jacobians.items():
        x = flat(variable.value)
        linear += jacobian.T @ x
        size += abs(jacobian).T @ np.abs(x)
    constant = total - linear
    constant[np.abs(constant) <= ROUNDING * (size + np.abs(total))] = 0.0
    return Affine(jacobians, constant, size)


def is_affine_tree(expression: cp.Expression) -> bool:
    """Whether a tree is affine by its atoms alone; products of two variables are not."""
    if isinstance(expression, Leaf):
        return True
    if not isinstance(expression, AffAtom):
        return bool(expression.is_constant())
    varying = [arg for arg in expression.args if not arg.is_constant()]
    product = isinstance(expression, cp.atoms.affine.binary_operators.BinaryOperator)
    return all(map(is_affine_tree, varying)) and not (product and len(varying) > 1)


def is_quadratic_atom(expression: cp.Expression) -> bool:
    """Whether this is one quadratic atom of one affine argument."""
    if isinstance(expression, AffAtom) or not expression.is_quadratic():
        return False
    varying = [arg for arg in expression.args if not arg.is_constant()]
    return len(varying) == 1 and is_affine_tree(varying[0])


def degrees(expression: cp.Expression, sweep: Sweep) -> set[float]:
    """Degrees of homogeneity that occur in an objective; nan for an atom that has none.

    A problem with one degree and no constants is the same in every unit: it has no scale.
    """
    if expression.is_constant():
        return set()
    if is_affine_tree(expression):
        return {1.0}
    found: set[float] = set()
    if isinstance(expression, AffAtom):
        return found.union(*(degrees(arg, sweep) for arg in expression.args))
    inner = [arg for arg in expression.args if not arg.is_constant()]
    if not all(is_affine_tree(arg) for arg in inner):
        return {0.0, float("nan")}
    found = {0.0} if any(sweep.affine(arg).constant.any() for arg in inner) else set()
    if is_quadratic_atom(expression):
        return found | {2.0}
    if isinstance(expression, cp.Pnorm) or (
        expression.is_pwl() and len(inner) == len(expression.args)
    ):
        return found | {1.0}
    return {0.0, float("nan")}


def sizes_by_degree(expression: cp.Expression, sweep: Sweep) -> dict[float, Vector]:
    """Size of the linear and of the quadratic terms, where `degrees` found nothing else."""
    if expression.is_constant():
        return {}
    if not isinstance(expression, AffAtom) or is_affine_tree(expression):
        return {2.0 if is_quadratic_atom(expression) else 1.0: sweep.size(expression)}
    found: dict[float, Vector] = {}
    for arg, J in _local_jacobians(expression, [arg.value for arg in expression.args]):
        for degree, size in sizes_by_degree(arg, sweep).items():
            found[degree] = found.get(degree, 0.0) + abs(J).T @ size
    return found


def _values_at(expression: cp.Expression, arg: cp.Expression, offset: Vector) -> list[object]:
    """Argument values of an atom with `offset` in place of one argument."""
    replaced = np.reshape(offset, arg.shape, order="F")
    return [replaced if a is arg else a.value for a in expression.args]


def _local_jacobians(
    expression: cp.Expression, values: list[object]
) -> list[tuple[cp.Expression, sp.csr_array]]:
    """Cvxpy's own derivative of one atom with respect to each argument that varies.

    `Expression.grad` chains exactly these; taken one by one, their sizes can be chained too.
    """
    try:
        with np.errstate(all="ignore"):
            found = expression._grad(values)
    except (NotImplementedError, ValueError, ArithmeticError, TypeError, IndexError) as error:
        msg = f"{type(expression).__name__} has no gradient: {error}"
        raise GradientError(msg) from error
    pairs = [
        pair for pair in zip(expression.args, found, strict=False) if not pair[0].is_constant()
    ]
    if any(jacobian is None for _, jacobian in pairs):
        msg = f"{type(expression).__name__} has no gradient at this point"
        raise GradientError(msg)
    return [(arg, _matrix(jacobian, arg.size, expression.size)) for arg, jacobian in pairs]


def _matrix(jacobian: object, rows: int, columns: int) -> sp.csr_array:
    """Turn a Jacobian as cvxpy returns it (scalar, dense, sparse) into a sparse matrix."""
    if sp.issparse(jacobian):
        return sp.csr_array(jacobian)
    return sp.csr_array(np.reshape(np.asarray(jacobian, dtype=float), (rows, columns)))
