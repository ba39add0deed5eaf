"""What describe() shows is what the pages state: names, numbers, both scripts, the text itself."""

import re

import numpy as np
import pytest

import kernelqp as kq
from kernelqp.description import HALF, NoDual, kernel_formula, number, total
from kernelqp.errors import ParameterError
from kernelqp.methods.base import Method, row
from tests.formula_reader import Reader

N = 9
_RNG = np.random.default_rng(3)
X = _RNG.normal(size=(N, 2))
LABELS = np.where(np.arange(N) % 2, 1.0, -1.0)
TARGETS = _RNG.normal(size=N)
WEIGHTS = _RNG.uniform(0.5, 2.0, size=N)

KERNELS = {
    "linear": kq.Linear(),
    "twice linear": 2.0 * kq.Linear(),
    "rbf": kq.RBF(gamma=0.5),
    "scale": kq.Polynomial(2, None, 1.0),
}
INTERCEPTS = ("free", "penalized", "none")
# the forms that each kernel has besides "auto"
FORMS = {"linear": ("weights", "coefficients"), "twice linear": ("weights", "coefficients")}


def margin_methods(common):
    for q in (1, 2, 3, 1.7, 1.5):
        yield kq.SoftMarginSVM(C=10, slack_power=q, **common)
    yield kq.SoftMarginSVM(C=1 / 3, slack_power=1.3, class_weight={1: 2}, **common)
    yield kq.SoftMarginSVM(C=1, **common)
    yield kq.HardMarginSVM(**common)
    yield kq.LogisticRegression(C=10, **common)
    yield kq.LogisticRegression(C=7.5, class_weight={1: 2}, **common)
    for nu in (0.2, 0.5, 1):
        yield kq.NuSVM(nu=round(0.7 * nu, 2), **common)  # the weights admit 0.703


def row_by_row_methods(common):
    for lam in (3.0, 0.1, 1.0):
        yield kq.Pegasos(lam=lam, **common)
    yield kq.Pegasos(lam=1 / 3, batch="full", class_weight={1: 2}, **common)
    yield kq.Perceptron(**common)


def regressions(common):
    for lam in (3.0, 0.1, 1.0):
        yield kq.RegularizedLeastSquares(lam=lam, **common)
    yield kq.ConstrainedRidge(radius=2.5, **common)
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive", "huber", "absolute"):
        for C in (0.3, 1.0, 10.0):
            yield kq.SupportVectorRegression(C=C, loss=loss, delta=0.7, **common)
    for tau in (0.9, 0.25):
        yield kq.QuantileRegression(C=10, tau=tau, **common)
    for nu in (0.2, 0.5, 1):
        yield kq.NuSVR(C=10 * nu, nu=nu, **common)


def unpenalized_methods(common):
    yield kq.RegularizedLeastSquares(lam=0, **common)
    yield kq.LogisticRegression(C=np.inf, **common)
    yield kq.QuantileRegression(C=np.inf, tau=0.9, **common)
    for loss in ("epsilon_insensitive", "huber"):
        yield kq.SupportVectorRegression(C=np.inf, loss=loss, **common)


def methods():
    for kernel, value in KERNELS.items():
        for nu in (0.2, 0.5, 1):
            yield kernel, kq.OneClassSVM(nu=nu, kernel=value)
        for intercept in INTERCEPTS:
            groups = [margin_methods, regressions]
            groups += [row_by_row_methods] * (intercept != "free")
            groups += [unpenalized_methods] * (kernel == "linear")
            for group in groups:
                for method in group({"kernel": value, "intercept": intercept}):
                    yield kernel, method


def unpenalised(method):
    return getattr(method, "lam", 1.0) == 0 or getattr(method, "C", 1.0) == float("inf")


def cases():
    for kernel, method in methods():
        forms = ("auto", *FORMS.get(kernel, ("coefficients",)))
        if isinstance(method, kq.HardMarginSVM | kq.Perceptron):
            forms += ("max_margin",)
        if isinstance(method, kq.ConstrainedRidge):
            forms += ("residuals",)
        if unpenalised(method):
            forms = ("auto", "weights")
        for form in forms:
            yield pytest.param(method, form, id=f"{method!r}-{form}")


EVERY_CASE = tuple(cases())


def targets(method):
    real = (
        kq.RegularizedLeastSquares,
        kq.ConstrainedRidge,
        kq.SupportVectorRegression,
        kq.QuantileRegression,
        kq.NuSVR,
    )
    return TARGETS if isinstance(method, real) else LABELS


def sides(method, form):
    """Return each side as (its description, its formulation)."""
    described = method.describe(form)
    y = targets(method)
    found = [(described.primal, method.primal(X, y, WEIGHTS, form=form))]
    if not isinstance(described.dual, NoDual):
        found.append((described.dual, method.dual(X, y, WEIGHTS)))
    return found


def point_of(method, formulation):
    """Set random values, positive for xi and alpha, and return them with the data by name."""
    rng = np.random.default_rng(11)
    point = {}
    for name, variable in formulation.variables.items():
        point[name] = rng.uniform(0.1, 2.0, size=variable.shape)
        if not name.startswith(("xi", "alpha")):
            point[name] = point[name] - 1.0
        variable.value = point[name]
    data, kernel = formulation.page.data, method.kernel.bind(X)
    features = kernel.features(X)
    return point | {
        "y": data.targets,
        "s": data.weights,
        "K": kernel(X),
        "X": X if features is None else features,
    }


@pytest.mark.parametrize(("method", "form"), EVERY_CASE)
def test_names_are_those_of_the_page(method, form):
    for program, formulation in sides(method, form):
        assert set(program.constraints) == set(formulation.constraints)
        words = {"α": "alpha", "β": "beta", "ξ": "xi", "ε": "epsilon", "ρ": "rho"}
        words |= {"α*": "alpha_star", "ξ*": "xi_star"}
        shown = [words.get(symbol.text, symbol.text) for symbol in program.unknowns]
        assert shown == list(formulation.variables)
        sense = {"minimise": "minimize", "maximise": "maximize"}[program.sense]
        assert sense == formulation.problem.objective.NAME


@pytest.mark.parametrize(("method", "form"), EVERY_CASE)
def test_numbers_are_those_of_the_page(method, form):
    for program, formulation in sides(method, form):
        point = point_of(method, formulation)
        value = float(np.squeeze(program.objective.at(point)))
        assert value == pytest.approx(formulation.problem.objective.value, rel=1e-10)
        for name, constraint in formulation.constraints.items():
            violation = np.ravel(program.constraints[name].at(point))
            np.testing.assert_allclose(violation, np.ravel(constraint.expr.value), atol=1e-10)
            assert bool(program.constraints[name].rows) == (constraint.size > 1)


# --- the text itself, read and computed ----------------------------------------------------------


def compute_and_compare(method, form, shown):
    """Check every objective and constraint of the lines that are shown."""
    for program, formulation in sides(method, form):
        point = point_of(method, formulation)
        start = next(k for k, line in enumerate(shown) if line.startswith(f"{formulation.side}: "))
        value = float(np.squeeze(Reader(shown[start + 1].strip(), point).all("sum")))
        assert value == pytest.approx(formulation.problem.objective.value, rel=1e-10)
        for line in shown[start + 3 : start + 3 + len(program.constraints)]:
            name, text = line.removesuffix("for every i").strip().split(": ")
            found = np.ravel(Reader(text, point).all("relation"))
            real = np.ravel(formulation.constraints[name].expr.value)
            np.testing.assert_allclose(found, real, atol=1e-10)


@pytest.mark.parametrize(("method", "form"), EVERY_CASE)
def test_the_text_that_is_shown_computes_to_the_page(method, form):
    compute_and_compare(method, form, str(method.describe(form)).splitlines())


# --- LaTeX ---------------------------------------------------------------------------------------

TEX = {
    r"\alpha": "α", r"\beta": "β", r"\xi": "ξ", r"\epsilon": "ε", r"\delta": "δ", r"\tau": "τ",
    r"\infty": "∞", r"\lambda": "λ", r"\phi": "φ", r"\sum": "Σ", r"\nu": "ν", r"\rho": "ρ",
    r"\sqrt": "√", r"\log": "log", r"\geq": ">=", r"\leq": "<=", r"\exp": "exp",
    "-": "−", r"\|": "‖", r"\top": "'", r"\times": "e",
}  # fmt: skip


def tokens(text):
    """Return the letters, digits and signs in their order; layout and parentheses go."""
    return re.sub(r"[\s(){}^_,/²]|\.(?=\D)", "", text)


def untexed(latex):
    latex = re.sub(
        r"\\(left|right|quad|frac|text|mathrm|begin\{aligned\}|end\{aligned\})", "", latex
    )
    latex = re.sub(
        r"\\([{}_&%$#])", r"\1", latex.replace(r"\,", "").replace(r"\\", "").replace("&", "")
    )
    for tex in sorted(TEX, key=len, reverse=True):
        latex = latex.replace(tex, TEX[tex])
    return latex


@pytest.mark.parametrize(("method", "form"), EVERY_CASE)
def test_latex_says_what_the_text_says(method, form):
    described = method.describe(form)
    body = described.latex.removeprefix("\\[").removesuffix("\\]")
    plain = tokens(described.text.replace("²", "2").replace("-1", "−1"))
    assert tokens(untexed(body)) == plain
    assert described._repr_latex_() == f"$${body}$$"


# a fraction stands inside a power or a root, never a power in a fraction but by its sign ²
BRACES = (
    (r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))"),
    (r"\\sqrt\{([^{}]*)\}", r"√(\1)"),
    (r"\^\{([^{}]*)\}", r"^(\1)"),
)


def in_plain_notation(latex):
    """Return a line of LaTeX in the notation of the text, its braces as parentheses."""
    latex = re.sub(r"\\text\{([^{}]*)\}", r"\1", re.sub(r"\\quad |^&| \\\\$", "", latex))
    latex = re.sub(r"\\sum_\{(i),?(j?)\}", r"Σ_\1\2", latex).replace(r"\sum_{j}", "Σ_j")
    latex = (
        latex.replace(r"w^\top ", "w'")
        .replace(r"\|w\|^2", "‖w‖²")
        .replace(r"\|w\|", "‖w‖")
        .replace("^2", "²")
    )
    latex = re.sub(r"\{(\\\w+)\^\*\}", r"\1*", latex)
    latex = latex.replace(r"\left", "").replace(r"\right", "")
    for braced, turned in BRACES:
        latex = re.sub(braced, turned, latex)
    return untexed(latex)


@pytest.mark.parametrize(("method", "form"), EVERY_CASE)
def test_the_latex_that_is_shown_computes_to_the_page(method, form):
    lines = method.describe(form).latex.splitlines()[2:-2]
    assert not any(re.search(r"\^\d[\d.]", line) for line in lines)  # TeX raises one character
    compute_and_compare(method, form, [in_plain_notation(line) for line in lines])


def test_latex_can_be_typeset():
    parser = pytest.importorskip("matplotlib.mathtext").MathTextParser("path")
    seen = set()
    for case in EVERY_CASE:
        method, form = case.values
        *head, end, last = method.describe(form).latex.splitlines()
        assert (*head[:2], end, last) == ("\\[", r"\begin{aligned}", r"\end{aligned}", "\\]")
        assert all(line.startswith("&") for line in head[2:])
        assert all(line.endswith(r" \\") for line in head[2:-1])
        seen |= {line.removeprefix("&").removesuffix(r" \\") for line in head[2:]}
    for line in seen:
        parser.parse(f"${line}$")
    assert len(seen) > 50


# --- kernels and numbers -------------------------------------------------------------------------

FORMULAS = {
    "exp(−0.1 ‖x − z‖²)": kq.RBF(gamma=0.1),
    "exp(−1/(d var X) ‖x − z‖²)": kq.RBF(),
    "exp(−1/d ‖x − z‖_1)": kq.Laplacian(gamma="auto"),
    "(3 x'z + 2)²": kq.Polynomial(2, 3.0, 2.0),
    "(x'z − 1)^3": kq.Polynomial(3, 1.0, -1.0),
    "(x'z)²": kq.Linear() ** 2,
    "tanh(0.2 x'z + 1)": kq.Sigmoid(0.2, 1.0),
    "2 (x'z + exp(−‖x − z‖²)) x'z": 2.0 * (kq.Linear() + kq.RBF(gamma=1.0)) * kq.Linear(),
    "normalize(exp(x'z))": kq.normalize(kq.exp(kq.Linear())),
    "1 + 3 (x'z)²": kq.power_series("linear", [1.0, 0.0, 3.0]),
}


@pytest.mark.parametrize("text", FORMULAS)
def test_a_kernels_formula_is_the_kernel(text):
    kernel = FORMULAS[text]
    formula = kernel_formula(kernel)
    assert formula.text == text
    np.testing.assert_allclose(formula.at({"X": X}), kernel.bind(X)(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (kq.Precomputed(), "k(x, z) = Precomputed()(x, z)"),
        (kq.Repaired("sigmoid"), "k(x, z) = Repaired("),
        (np.dot, "k(x, z) = CallableKernel(dot)(x, z)"),
    ],
)
def test_a_kernel_without_a_formula_shows_its_name(kernel, text):
    assert text in kq.HardMarginSVM(kernel=kernel).describe().text


@pytest.mark.parametrize(
    ("value", "text", "latex"),
    [
        (10, "10", "10"),
        (0.1, "0.1", "0.1"),
        (0.5, "1/2", r"\frac{1}{2}"),
        (1e300, "1e+300", "10^{300}"),
        (2.5e-7, "2.5e-7", r"2.5 \times 10^{-7}"),
        (1 / 3, "0.3333333333333333", "0.3333333333333333"),
        (-2.0, "−2", "-2"),
        (0.0, "0", "0"),
    ],
)
def test_a_number_is_shown_in_full(value, text, latex):
    assert (number(value).text, number(value).latex) == (text, latex)
    assert number(value).at({}) == value


def test_a_sum_over_rows_ends_where_its_product_ends():
    product = HALF * total("i", row("s")) * row("y", "j")
    assert product.text == "(1/2 Σ_i s_i) y_j"
    assert product.latex == r"\left(\frac{1}{2} \sum_{i} s_i\right) y_j"
    assert product.rows == {"j"}


def test_the_largest_C_can_be_described():
    assert "4e+308" in kq.SoftMarginSVM(C=1e308, slack_power=2).describe().text


# --- what is said besides ------------------------------------------------------------------------


def test_parameters_are_said():
    said = str(kq.SoftMarginSVM(C=10, slack_power=2, class_weight="balanced").describe())
    assert "C = 10, slack power q = 2" in said
    assert "class weights: 'balanced'" in said
    assert "1/2 ‖w‖² + 10 Σ_i s_i ξ_i²" in said
    assert "− Σ_i α_i²/(40 s_i)" in said


@pytest.mark.parametrize(
    ("intercept", "words"),
    [("free", "b is a free intercept"), ("penalized", "b is penalised"), ("none", "no intercept")],
)
def test_the_intercept_is_said(intercept, words):
    for cls in (kq.SoftMarginSVM, kq.HardMarginSVM, kq.RegularizedLeastSquares):
        assert words in cls(intercept=intercept).describe().text


def test_a_notebook_and_a_prompt_show_the_page():
    described = kq.HardMarginSVM().describe()
    assert repr(described) == str(described) == described.text
    assert (
        described == kq.HardMarginSVM().describe() != kq.HardMarginSVM(intercept="none").describe()
    )


def test_no_penalty_has_no_dual():
    described = kq.RegularizedLeastSquares(lam=0, intercept="penalized").describe()
    assert isinstance(described.dual, NoDual)
    assert "dual: none, lam=0" in described.text
    assert "b is a free intercept" in described.text  # λ b²/2 is 0


@pytest.mark.parametrize(
    ("method", "form", "message"),
    [
        (kq.SoftMarginSVM(), "dual", "form must be one of 'auto', 'weights'.*got 'dual'"),
        (kq.SoftMarginSVM(), "max_margin", "form must be one of"),
        (kq.HardMarginSVM(kernel="rbf"), "weights", "needs explicit features"),
        (kq.RegularizedLeastSquares(lam=0), "coefficients", "lam=0 is no penalty"),
        (kq.LogisticRegression(C=float("inf")), "coefficients", "C=inf is no penalty"),
        (kq.LogisticRegression(C=float("inf"), kernel="rbf"), "auto", "C=inf is no penalty"),
        (kq.RegularizedLeastSquares(lam=0, kernel="rbf"), "auto", "lam=0 is no penalty"),
    ],
)
def test_a_form_that_is_not_there_is_refused(method, form, message):
    with pytest.raises(ParameterError, match=message):
        method.describe(form)


def test_a_method_without_a_description_says_so():
    with pytest.raises(NotImplementedError):
        Method().describe()
