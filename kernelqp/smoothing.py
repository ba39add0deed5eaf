"""Newton's method on a smoothed primal: the missing β of a model whose w is near the optimum.

A loss that is piecewise linear is replaced by its mean over a window of width h,

    M(p) = 1/h ∫ ℓ(y, p + u) du over |u| <= h/2,     M'(p) = (ℓ(y, p + h/2) − ℓ(y, p − h/2)) / h

which differs from it near its kinks alone. In weights w and offset θ

    minimise  1/2 ‖w‖² + d'θ + Σ c_i M_i(f(x_i) + (Bθ)_i)

is smooth, β = −c M' lies in the domain of D, and only rows within h/2 of a kink bend: O(n r) a step
of Newton's and O(r²) for each of these rows, and few steps from a w that is near. D at the smoothed
optimum falls short of the optimum by no more than these rows lack there.

Source: Chen & Mangasarian (1996), A class of smoothing functions for nonlinear and mixed
complementarity problems, Comput. Optim. Appl. 5(2), 97-138; Chapelle (2007), Training a support
vector machine in the primal, Neural Comput. 19(5), 1155-1178.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack

from kernelqp.blame import complementarity_by_row
from kernelqp.columns import side_by_side, weighted_gram
from kernelqp.repair import domain_of, settle

if TYPE_CHECKING:
    from kernelqp._types import Matrix, Vector
    from kernelqp.risk import Function, RegularizedRisk

STEPS = 8  # from a w that is near
FAR = 1e4  # times the error: a first step that promises more starts too far off
LEFT = 0.5  # of the error: what the last step may promise, and the weights be off by
FLAT = 0.3  # of the first slope along a step: the slope where a search of it ends
TRIES = 10  # points of one search
HALVED = 20  # times at most, a window that holds more rows than thought


def can_be_smoothed(risk: RegularizedRisk) -> bool:
    """Whether there are as many rows as unknowns, under a piecewise linear loss of finite slope.

    Its offsets share no row: β can then be balanced exactly.
    """
    factor = risk.gram.factor
    if factor is None or factor.shape[1] + risk.offset.price.size > risk.n:
        return False
    if not risk.offset.is_disjoint:
        return False
    low, high = risk.slopes
    return risk.loss.piecewise_linear and bool(np.isfinite(high - low).all())


def smoothed_dual(
    risk: RegularizedRisk, function: Function, theta: Vector, error: float
) -> tuple[Function, Function, Vector] | None:
    """Return a balanced f_β and (f, θ) near the optimum, None if it is not near the (f, θ) given.

    ``error``, in the unit of P, is about what D and P at them miss the optimum by; at 0 or less
    there is nothing to smooth, and nothing is returned.
    """
    assert function.weights is not None
    if not error > 0.0:
        return None
    r, x = function.weights.size, np.concatenate([function.weights, theta])
    with np.errstate(all="ignore"):  # where numbers are at their end nothing is found
        found = Smoothed.of(risk, x, error).solved(x, error)
    if found is None:
        return None
    x, beta = found
    return risk.function(settle(risk, beta)), risk.function(weights=x[:r]), x[r:]


@dataclass(frozen=True, eq=False, slots=True)
class Smoothed:
    """The smoothed problem in x = (w, θ), at predictions X x.

    Attributes
    ----------
    design : Matrix, shape (n, r + m)
        X = (F, B).
    penalty, price : Vector, shape (r + m,)
        1 for w and 0 for θ; 0 for w and d for θ.
    kinks : Matrix, shape (k, n)
        Where the slope of the loss jumps.
    low, high : Vector, shape (n,)
        The domain of β, which falls by the same at every kink of a row.
    window : float
        The width h.
    """

    design: Matrix
    penalty: Vector
    price: Vector
    kinks: Matrix
    low: Vector
    high: Vector
    window: float

    @classmethod
    def of(cls, risk: RegularizedRisk, x: Vector, error: float) -> Smoothed:
        """Return the problem in whose windows rows lack no more than the error at x.

        At the optimum as many rows are on kinks as there are unknowns; near x there may be more.
        """
        m, kinks, (low, high) = (
            risk.offset.price.size,
            risk.loss.jumps(risk.targets),
            domain_of(risk),
        )
        design = side_by_side(risk.gram.factor, risk.offset.basis)
        penalty, price = np.ones(x.size), np.zeros(x.size)
        penalty[x.size - m :], price[x.size - m :] = 0.0, risk.offset.price
        p = design @ x
        # the mean of what rows spread evenly over a window lack is at most (high − low) h/24
        window = 24.0 * error / (x.size * float((high - low).mean()))
        for _ in range(HALVED):
            found = cls(design, penalty, price, kinks, low, high, window)
            lacking = float(complementarity_by_row(risk, found.slopes(p)[0], p).sum())
            if lacking <= error:
                break
            window *= min(math.sqrt(error / lacking), 0.5)  # as many more rows as it is wider
        return found

    def slopes(self, p: Vector) -> tuple[Vector, Matrix]:
        """Return β = −c M'(p), and the share of the window of every kink that lies below p."""
        below = np.minimum(np.maximum((p - self.kinks) / self.window + 0.5, 0.0), 1.0)
        share = below.mean(axis=0)
        return (1.0 - share) * self.high + share * self.low, below

    def solved(self, x: Vector, error: float) -> tuple[Vector, Vector] | None:
        """Return x and β near the optimum by Newton's method; None if it is not near x."""
        p = self.design @ x
        beta, below = self.slopes(p)
        for k in range(STEPS):
            bends = ((below > 0.0) & (below < 1.0)).sum(axis=0)
            zone = np.flatnonzero(bends)
            gradient = self.penalty * x + self.price - self.design.T @ beta
            weights = bends[zone] * (self.high - self.low)[zone] / (len(self.kinks) * self.window)
            hessian = weighted_gram(self.design[zone], weights)
            hessian.flat[:: x.size + 1] += self.penalty
            _, step, singular = lapack.dposv(hessian, -gradient)
            if singular:  # an offset that no row in a window sees
                return None
            promised, off = -float(gradient @ step), self.penalty @ gradient**2
            if promised + off <= LEFT * error:
                return x, beta
            if not promised <= (FAR if k == 0 else math.inf) * error:
                return None
            change = self.design @ step
            t, beta, below = self._search(x, p, step, change, promised)
            x, p = x + t * step, p + t * change
        return None

    def _search(
        self, x: Vector, p: Vector, step: Vector, change: Vector, promised: float
    ) -> tuple[float, Vector, Matrix]:
        """Return a t up to 1 at which the slope along a step is nearly 0, and the slopes there."""
        penalised = self.penalty * step
        start, bend = float(x @ penalised + self.price @ step), float(step @ penalised)
        low, high, before, after = 0.0, 1.0, -promised, math.inf
        t = 1.0
        for k in range(TRIES):
            if k:
                t = low + (high - low) * before / (before - after)
            beta, below = self.slopes(p + t * change)
            slope = start + t * bend - float(beta @ change)
            if slope <= FLAT * promised and (t == 1.0 or slope >= -FLAT * promised):
                break
            if slope > 0.0:
                high, after = t, slope
            else:
                low, before = t, slope
        return t, beta, below
