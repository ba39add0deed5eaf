"""The perceptron: its algorithm, and the page of the hard margin that judges its plane."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kernelqp.kernel_names import resolve
from kernelqp.kernels import Linear
from kernelqp.methods.base import Method, no_options, not_free, positive, whole_number
from kernelqp.methods.hard_margin_forms import HardMarginForms
from kernelqp.methods.margin_page import MarginPage
from kernelqp.perceptron_solve import learn, trace
from kernelqp.solution import Infeasible

if TYPE_CHECKING:
    from kernelqp.description import Description
    from kernelqp.kernels import Kernel
    from kernelqp.solution import Solution
    from kernelqp.traces import PerceptronTrace


@dataclass(frozen=True)
class Perceptron(HardMarginForms, Method):
    """The perceptron, in weights or, with a kernel, in counts of mistakes.

    Row after row, in their order, and over again:

        if y_i f(x_i) <= 0:    f ← f + y_i k(x_i, ·),    a mistake

    until an epoch makes none, or after ``epochs``. So f = Σ y_i m_i k(x_i, ·), m_i the mistakes on
    row i. A plane of margin M through the origin bounds their number by (R/M)², R² the largest
    k(x_i, x_i) (Novikoff); :meth:`bound` finds the best M.

    What it finds is a plane, not the one of the maximum margin; ``solve`` says how far it is from
    that, in the objective of the hard margin, which ``primal`` and ``dual`` state:

        1/2 ‖f‖²/m², m the smallest margin  >=  optimum  >=  D at a multiple of the counts

    Parameters
    ----------
    epochs : int
        Visits of every row, >= 1, after which it gives up.
    kernel : Kernel, str or callable
        :class:`kernelqp.Linear` by default. Explicit features are kept as weights, other kernels as
        counts; both make the same mistakes.
    intercept : str
        "none", or "penalized": a feature of constant 1, which is in R as well. A free intercept is
        not what the algorithm finds.

    Raises
    ------
    ParameterError
        If a parameter is out of its range; intercept="free" is.

    Notes
    -----
    A Solution has ``mistakes`` and, by row, ``counts``; its f, as of a hard margin, is scaled to a
    smallest margin of 1. Its status is CERTIFIED where the plane happens to be the best one to
    within ``tol``, NOT_CERTIFIED where it separates the classes, and LIMIT, with an infinite value
    and f as it was left, where ``epochs`` were not enough. That proves nothing about the data:
    :func:`kernelqp.separable` does, and so does ``solve`` with a solver. Sample weights other than
    0 have no effect. Ctrl-C ends the run as ``epochs`` do.

    Source
    ------
    Rosenblatt (1958), The perceptron, Psychological Review 65(6), 386-408; Novikoff (1962), On
    convergence proofs on perceptrons, Symposium on the Mathematical Theory of Automata 12, 615-622;
    Freund & Schapire (1999), Large margin classification using the perceptron algorithm, Machine
    Learning 37, 277-296.

    Examples
    --------
    >>> import kernelqp as kq
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]], ["no", "yes", "no"]
    >>> s = kq.Perceptron().solve(X, y)
    >>> s.mistakes, s.counts.tolist(), s.predict([[0.0, 2.0]]).tolist()
    (2, [1, 1, 0], ['yes'])
    >>> print(f"{kq.Perceptron().bound(X, y):.1f}")
    20.0
    """

    epochs: int = 1000
    kernel: Kernel | Any = field(default_factory=Linear)
    intercept: str = "none"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epochs", whole_number("epochs", self.epochs, 1))
        not_free(self.intercept, "HardMarginSVM")
        object.__setattr__(self, "kernel", resolve(self.kernel))

    def describe(self, form: str = "auto") -> Description:
        """Return the hard margin that judges the plane as text and LaTeX, and the algorithm.

        Parameters
        ----------
        form : str
            Of the primal: "weights", "coefficients", "max_margin", or "auto", as ``primal`` takes.

        Raises
        ------
        ParameterError
            If the form is unknown, or is "weights" where the kernel has no explicit features.

        Source
        ------
        Rosenblatt (1958), Psychological Review 65(6), 386-408.

        Examples
        --------
        >>> import kernelqp as kq
        >>> print(kq.Perceptron().describe())
        Perceptron
        primal: minimise over w
                1/2 ‖w‖²
            subject to
                margin: y_i w'x_i >= 1  for every i
        dual: maximise over α
                Σ_i α_i − 1/2 Σ_ij α_i α_j y_i y_j k(x_i, x_j)
            subject to
                lower: α_i >= 0  for every i
        where
            there is no intercept
            k(x, z) = x'z
            y_i is +1 for the greater label and -1 for the other
            the algorithm adds the row of every mistake, in at most 1000 epochs; it stops at a plane
        """
        described = super().describe(form)
        said = f"the algorithm adds the row of every mistake, in at most {self.epochs} epochs"
        return replace(described, remarks=(*described.remarks, (f"{said}; it stops at a plane",)))

    def solve(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        form: str = "auto",
        solver: str = "auto",
        tol: float = 1e-6,
        **options: Any,
    ) -> Solution | Infeasible:
        """Run the algorithm and certify its plane; with a solver or a form, solve the hard margin.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`HardMarginSVM.solve`.
        form, solver, **options
            "auto" for both is the algorithm, which takes no options.
        tol : float
            The relative gap at which a plane counts as that of the maximum margin.

        Raises
        ------
        InputError
            If something passed in cannot be used.
        SolverError
            If a solver was named and is not installed, or failed without an answer.
        """
        if form != "auto" or solver != "auto":
            return super().solve(X, y, sample_weight, form, solver, tol, **options)
        no_options(options, "Perceptron")
        return learn(self, self.primal(X, y, sample_weight), positive("tol", tol))

    def run(
        self, X: Any, y: Any, sample_weight: Any = None, indices: Any = None, form: str = "auto"
    ) -> PerceptronTrace:
        """Run the algorithm, or a given sequence of rows, and return what happened, row by row.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`solve`.
        indices : integers, shape (T,), optional
            The rows in the order in which they are visited, once; they take the place of
            ``epochs``.
        form : str
            "weights" (explicit features), "counts" (any kernel), or "auto", weights where possible.

        Raises
        ------
        InputError
            If something passed in cannot be used.

        Examples
        --------
        >>> import kernelqp as kq
        >>> trace = kq.Perceptron().run([[1, 0], [0, 1], [3, 1]], [-1, 1, -1], indices=[2, 1, 0, 1])
        >>> trace.acted.tolist(), trace.weights.tolist(), trace.separated
        ([True, True, False, True], [-3.0, 1.0], True)
        """
        page = MarginPage.read_data(self, X, y, sample_weight, "auto", None)
        return trace(self, page, page.risk({}), indices, form)

    def bound(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return (R/M)², more than which no order of the rows makes mistakes; infinite without M.

        M is the margin of the hard margin through the origin of the kernel's space (of k + 1 where
        the intercept is penalised), at its upper bound on 1/M² with the rounding of that.
        """
        best = super().solve(X, y, sample_weight)
        if isinstance(best, Infeasible):
            return float("inf")
        page = MarginPage.read_data(self, X, y, sample_weight, "auto", None)
        radius2 = float(page.engine_gram.diagonal.max())
        known = best.certificate
        return radius2 * 2.0 * float(known.primal_value + known.rounding)
