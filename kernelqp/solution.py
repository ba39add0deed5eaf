"""Results: immutable, in the method's unit and the caller's rows, with the proof they carry."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelqp.ball import BallRisk
from kernelqp.errors import NotCertified, Status
from kernelqp.risk import RegularizedRisk
from kernelqp.support import SETTLED, Support, find_support, has_sets, intercept_interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelqp._types import Matrix, Vector
    from kernelqp.attainment import NotAttained
    from kernelqp.certificate import Verdict
    from kernelqp.formulation import Formulation, Page, Point
    from kernelqp.lagrange_bound import Conflict
    from kernelqp.separation import SeparationProof


PROBABILITIES = ": a margin is no probability; LogisticRegression models one"
ELSEWHERE = {"predict_proba": PROBABILITIES, "predict_log_proba": PROBABILITIES}


@dataclass(frozen=True, eq=False, slots=True)
class Infeasible:
    """There is no solution, and ``proof`` shows why; it was verified.

    No point satisfies the constraints (INFEASIBLE), or none reaches the infimum (NOT_ATTAINED).
    """

    status: Status
    proof: SeparationProof | Conflict | NotAttained
    seconds: float

    def __str__(self) -> str:
        return f"{self.status.name.lower().replace('_', ' ')}: {self.proof}"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no {name}: {self}")

    def raise_if_not_certified(self) -> Infeasible:
        """Raise NotCertified: there is no optimum to certify."""
        raise NotCertified(f"{self}. {self.status.value}")


@dataclass(frozen=True, eq=False)
class Solution:
    """A solved formulation: the repaired, feasible point, and what is proved about it.

    Attributes
    ----------
    value : float
        The objective of the form that was solved, at the repaired point. A repair may end with
        the linear system of the candidate's own sets; ``certificate.repair`` is how far it moved.
    status : Status
        What the numbers prove.
    solver : str
        Who found the point.
    seconds : float
        Wall time of the solve, certificate included.
    method : object
        The method, with the parameter values it was solved at.
    certificate : Certificate, or LagrangianBound with constraints of your own
        The two-sided bound and where the gap comes from.

    beta, alpha, intercept, intercept_interval, weights, slack, residuals, geometric_margin,
    distances, multiplier, lam, rho, epsilon, nu, C, classes, support, counts, mistakes, history
        What the method shows of the point. One that this solution does not have raises an
        AttributeError that says why. Arrays are read-only and in the caller's rows.
    """

    value: float
    status: Status
    solver: str
    seconds: float
    method: Any
    certificate: Any
    _shown: dict[str, Any] = field(repr=False)
    _absent: dict[str, str] = field(repr=False)
    _formulation: Formulation = field(repr=False)
    _point: Any = field(repr=False)
    _parameters: dict[str, float] = field(repr=False)
    _later: dict[str, Callable[[], Any]] = field(default_factory=dict, repr=False)

    @classmethod
    def build(
        cls,
        formulation: Formulation,
        risk: RegularizedRisk | BallRisk,
        verdict: Verdict,
        point: Point,
        status: Status,
        solver: str,
        seconds: float,
    ) -> Solution:
        """Collect what the page shows of a point, in the caller's rows."""
        page = formulation.page
        shown, absent = page.attributes(risk, point)
        later: dict[str, Callable[[], Any]] = {}
        if isinstance(risk, BallRisk):
            absent["support"] = "in a ball no multiplier has a margin to be compared with"
        elif not has_sets(risk):
            absent["support"] = "this loss has no bounds or kinks that rows could sit at"
        else:
            later["support"] = partial(_support, page, risk.centred, verdict)
        if isinstance(risk, RegularizedRisk) and risk.offset.is_intercept:
            later["intercept_interval"] = partial(_interval, risk.centred, verdict, point)
        parameters = formulation.parameter_values()
        certificate = verdict.certificate.scaled(page.scale(parameters))
        rows = page.scatter(certificate.complementarity)
        certificate = replace(certificate, complementarity=_frozen(rows))
        value = certificate.primal_value if formulation.side == "primal" else certificate.dual_value
        return cls(
            value=value,
            status=status,
            solver=solver,
            seconds=seconds,
            method=formulation.method,
            certificate=certificate,
            _shown={name: _frozen(item) for name, item in shown.items()},
            _absent=absent,
            _formulation=formulation,
            _point=point,
            _parameters=parameters,
            _later=later,
        )

    def looked_at(self) -> Solution:
        """Return self, with everything found that was left for later."""
        for name in tuple(self._later):
            self._show(name)
        return self

    @property
    def origin(self) -> tuple[Formulation, Any, dict[str, float]]:
        """The formulation, the repaired point on it, and the parameter values it was solved at."""
        return self._formulation, self._point, self._parameters

    def _show(self, name: str) -> Any:
        if (find := self._later.get(name)) is not None:  # computed when somebody looks
            self._shown.setdefault(name, find())
            self._later.pop(name, None)  # and with it what it was computed from
        if name in self._shown:
            return self._shown[name]
        none = f"{type(self.method).__name__} has none"
        reason = self._absent.get(name, f"{none}{ELSEWHERE.get(name, '')}")
        raise AttributeError(f"this solution has no {name}: {reason}")

    @property
    def beta(self) -> Vector:
        """Coefficients of f = Σ β_j k(x_j, ·), signed, shape (n,); 0 for rows of weight 0."""
        beta: Vector = self._show("beta")
        return beta

    @property
    def alpha(self) -> Vector:
        """The dual variables, shape (n,): of a margin >= 0, β = y α; of a regression signed."""
        alpha: Vector = self._show("alpha")
        return alpha

    @property
    def intercept(self) -> float:
        """The intercept b; 0.0 with intercept="none"."""
        intercept: float = self._show("intercept")
        return intercept

    @property
    def intercept_interval(self) -> tuple[float, float]:
        """The optimal intercepts: a point when b is unique, or known no better than that."""
        intercept_interval: tuple[float, float] = self._show("intercept_interval")
        return intercept_interval

    @property
    def weights(self) -> Vector:
        """The weights w of explicit features, shape (d,)."""
        weights: Vector = self._show("weights")
        return weights

    @property
    def slack(self) -> Vector:
        """ξ, shape (n,): how far y (f + b) falls short of 1, or of ρ, or leaves the tube."""
        slack: Vector = self._show("slack")
        return slack

    @property
    def geometric_margin(self) -> float:
        """1/‖f‖, the distance from the plane f + b = 0 to the planes f + b = ±1."""
        geometric_margin: float = self._show("geometric_margin")
        return geometric_margin

    @property
    def residuals(self) -> Vector:
        """Y − f(x) − b, shape (n,); NaN for rows of weight 0."""
        residuals: Vector = self._show("residuals")
        return residuals

    @property
    def distances(self) -> Vector:
        """|f(x_i) + b|/‖f‖, the distance of each row to the plane, shape (n,)."""
        distances: Vector = self._show("distances")
        return distances

    @property
    def classes(self) -> Any:
        """The two labels as they came; a positive decision predicts the second."""
        return self._show("classes")

    @property
    def support(self) -> Support:
        """The rows by role: support vectors, elbow, left, right, undecided."""
        support: Support = self._show("support")
        return support

    @property
    def multiplier(self) -> float:
        """μ of the ball ‖f‖ <= R, >= 0: how fast the optimum falls as R grows."""
        multiplier: float = self._show("multiplier")
        return multiplier

    @property
    def lam(self) -> float:
        """λ of the ridge regression with the same solution: μ/(2 R), infinite for R = 0."""
        lam: float = self._show("lam")
        return lam

    @property
    def rho(self) -> float:
        """ρ of a ν-SVM or of one class: the value of y (f + b), or of f, that costs nothing."""
        rho: float = self._show("rho")
        return rho

    @property
    def epsilon(self) -> float:
        """ε of a ν-SVR, >= 0: half the width of the tube."""
        epsilon: float = self._show("epsilon")
        return epsilon

    @property
    def nu(self) -> float:
        """ν of the NuSVM or NuSVR with the same f as this SVM or SVR: Σ |α|/(C S)."""
        nu: float = self._show("nu")
        return nu

    @property
    def C(self) -> float:
        """C of the SoftMarginSVM with the same plane as this NuSVM: 1/(ρ S)."""
        C: float = self._show("C")
        return C

    @property
    def counts(self) -> Vector:
        """How often each row acted on f, shape (n,): violations of Pegasos, mistakes."""
        counts: Vector = self._show("counts")
        return counts

    @property
    def mistakes(self) -> int:
        """How many mistakes a perceptron made in all; ``counts`` has them row by row."""
        mistakes: int = self._show("mistakes")
        return mistakes

    @property
    def history(self) -> Matrix:
        """Step, P and the best D so far, a line for every look that was taken at the bounds."""
        history: Matrix = self._show("history")
        return history

    @property
    def kkt(self) -> Any:
        """The KKT report of a problem with constraints of your own; else use ``check_kkt``."""
        return self._show("kkt")

    @property
    def shadow_prices(self) -> Any:
        """The multipliers of your own constraints by name, per unit of their right-hand sides."""
        return self._show("shadow_prices")

    def decision_function(self, X: Any) -> Vector:
        """Return f(x) + b at new rows, shape (n_new,); a precomputed kernel takes K (n_new, n)."""
        return np.asarray(self._formulation.page.decision_function(self._point, X))

    def predict(self, X: Any) -> Any:
        """Return the predicted labels: the greater one where f + b > 0, the smaller one at 0."""
        return self._formulation.page.predict(self._point, X)

    def showing(self, **items: Any) -> Solution:
        """Return the same solution with more to show, by the names of its properties."""
        more = {name: _frozen(item) for name, item in items.items()}
        return replace(self, _shown=self._shown | more)

    @property
    def predict_proba(self) -> Callable[[Any], Matrix]:
        """The probability of each class at new rows, shape (n_new, 2), in the order of classes."""
        predict_proba: Callable[[Any], Matrix] = self._show("predict_proba")
        return predict_proba

    @property
    def predict_log_proba(self) -> Callable[[Any], Matrix]:
        """The logarithm of ``predict_proba``, which keeps figures where that is 0 or 1."""
        predict_log_proba: Callable[[Any], Matrix] = self._show("predict_log_proba")
        return predict_log_proba

    def raise_if_not_certified(self) -> Solution:
        """Return self, or raise NotCertified with the bound and the remedy."""
        if self.status is not Status.CERTIFIED:
            raise NotCertified(f"{self.certificate}. {self.status.value}")
        return self

    def __str__(self) -> str:
        return f"{self.method!r}: {self.certificate} by {self.solver} in {self.seconds:.2g} s"


def _support(page: Page, risk: RegularizedRisk, verdict: Verdict) -> Support:
    """Return the sets as the caller's row numbers; the gap is known no better than to rounding."""
    certificate = verdict.certificate
    tight = certificate.relative_gap <= SETTLED
    gap = max(abs(certificate.gap), certificate.rounding)
    found = find_support(risk, verdict.dual, verdict.function, verdict.theta, gap, tight)
    names = ("support_vectors", "elbow", "left", "right", "undecided")
    return Support(*(_frozen(page.callers(getattr(found, name))) for name in names))


def _interval(risk: RegularizedRisk, verdict: Verdict, point: Point) -> tuple[float, float]:
    """Return the optimal intercepts, in the page's coordinates."""
    b = float(point.theta[0])  # optimal for f as it is, whatever rounding β carries
    shift = b - float(verdict.theta[0])
    low, high = intercept_interval(risk, verdict.dual, verdict.theta)
    return min(low + shift, b), max(high + shift, b)


def _frozen(item: Any) -> Any:
    """Return an array as a read-only copy; anything else as it is."""
    if not isinstance(item, np.ndarray):
        return item
    item = item.copy()
    item.setflags(write=False)
    return item
