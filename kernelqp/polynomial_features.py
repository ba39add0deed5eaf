"""The feature map of the polynomial kernel: all monomials, weighted by the multinomial theorem.

With u = (sqrt(c), sqrt(gamma) x_1, ..., sqrt(gamma) x_d) the kernel is (u'v)^q, and

    (u'v)^q = sum over |m| = q of  q!/(m_0! ... m_d!)  u^m v^m,
    phi_m(x) = sqrt(q!/(m_0! ... m_d!)) u^m.

A monomial is a word of indices i_1 <= ... <= i_q; words of length j are those of length j - 1
with an index i in front that is not above their first. In lexicographic order these are the tail
of the list from the first word that begins with i, so that a degree costs d + 1 slices. A number in
front of a word multiplies its multinomial coefficient by j over the new multiplicity of i.
"""

import math
from dataclasses import dataclass

import numpy as np

from kernelqp._types import Matrix, Vector
from kernelqp.columns import dense
from kernelqp.errors import ParameterError
from kernelqp.kernel_parameters import points

LIMIT = 1_000_000  # features


def polynomial_features(X: Matrix, degree: int, gamma: float, constant: float) -> Matrix:
    """Explicit features phi(x) with phi(x)'phi(z) = (gamma x'z + constant)^degree.

    For degree 2, gamma = constant = 1 and d = 2 these are
    1, sqrt(2) x_1, sqrt(2) x_2, x_1^2, sqrt(2) x_1 x_2, x_2^2, in this order.

    Parameters
    ----------
    X : Matrix, shape (n, d), units [x]
        Rows are points.
    degree : int
        Power, >= 1.
    gamma : float
        Units 1/[x]^2, > 0.
    constant : float
        Dimensionless, >= 0.

    Returns
    -------
    Matrix, shape (n, C(d + degree, degree)); (n, C(d + degree - 1, degree)) when constant = 0
        One column for each monomial, the lower degrees first.

    Raises
    ------
    ParameterError
        If constant < 0, where no real features exist in general, or there are more than 1e6.

    Source
    ------
    Shawe-Taylor & Cristianini (2004), Kernel Methods for Pattern Analysis, section 9.1.

    Examples
    --------
    >>> polynomial_features(np.array([[2.0, 3.0]]), degree=2, gamma=1.0, constant=0.0).round(4)
    array([[4.    , 8.4853, 9.    ]])
    """
    X = points(X)
    X = dense(X)
    if np.ndim(X) != 2:
        raise ParameterError(f"X must be 2-D, rows of points; got shape {np.shape(X)}")
    _check(X.shape[1], degree, gamma, constant)
    with np.errstate(all="ignore"):
        coordinates = math.sqrt(gamma) * X
        if constant > 0:
            coordinates = np.column_stack([np.full(len(X), math.sqrt(constant)), coordinates])
        words = _Words.empty(*coordinates.shape)
        for length in range(1, degree + 1):
            words = words.longer(coordinates, length)
        return words.monomials * np.sqrt(words.coefficients)


def _check(d: int, degree: int, gamma: float, constant: float) -> None:
    from kernelqp.kernels import Polynomial  # it knows the range of its parameters

    Polynomial(degree, gamma, constant)
    if constant < 0:
        raise ParameterError(
            f"constant must be >= 0 for a feature map; got {constant!r}: the kernel is then not "
            "positive semidefinite in general"
        )
    count = math.comb(d + degree - (constant == 0), degree)
    if count > LIMIT:
        raise ParameterError(
            f"degree {degree} on {d} features gives {count} monomials, more than {LIMIT}: "
            "lower the degree, or use the kernel itself"
        )


@dataclass(frozen=True, eq=False)
class _Words:
    """All words of one length in lexicographic order.

    ``coefficients`` are multinomial, ``lead`` is how often a word's first index stands in it, and
    ``starts[i]`` is the first word that begins with i or more.
    """

    monomials: Matrix
    coefficients: Vector
    lead: Vector
    starts: list[int]

    @classmethod
    def empty(cls, n: int, d: int) -> "_Words":
        """Return the one word of length 0."""
        return cls(np.ones((n, 1)), np.ones(1), np.zeros(1), [0] * d)

    def longer(self, coordinates: Matrix, length: int) -> "_Words":
        """Put every index in front of the words that may follow it."""
        ends = [*self.starts[1:], len(self.lead)]
        monomials, coefficients, leads, starts = [], [], [], [0]
        for i, (start, end) in enumerate(zip(self.starts, ends, strict=True)):
            lead = np.ones(len(self.lead) - start)
            lead[: end - start] += self.lead[start:end]
            monomials.append(coordinates[:, i, None] * self.monomials[:, start:])
            coefficients.append(self.coefficients[start:] * length / lead)
            leads.append(lead)
            starts.append(starts[-1] + len(lead))
        return _Words(
            np.hstack(monomials), np.concatenate(coefficients), np.concatenate(leads), starts[:-1]
        )
