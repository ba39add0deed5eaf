"""The shape of the library: what a file must not know, how long it may be, what is public."""

import ast
from pathlib import Path

import pytest

import kernelqp

PACKAGE = Path(kernelqp.__file__).parent
FILES = sorted(p for p in PACKAGE.rglob("*.py") if "problem_library" not in p.parts)

SOLVERS = ("kernelqp.solvers", "kernelqp.solve")
METHODS = ("kernelqp.methods",)
TERMINAL = ("typer", "rich")
SHOWN = ("cli", "progress.py", "kernel_audit.py")  # a long call from Python shows its progress too
MUST_NOT_KNOW = {
    "errors.py": ("kernelqp", "cvxpy", "numpy"),
    "data.py": ("kernelqp.kernels", "kernelqp.losses", "cvxpy"),
    "kernels.py": ("kernelqp.data", "kernelqp.losses", "cvxpy"),
    "kernel_parameters.py": ("kernelqp.data", "kernelqp.losses", "cvxpy"),
    "kernel_algebra.py": ("kernelqp.data", "kernelqp.losses", "cvxpy"),
    "polynomial_features.py": ("kernelqp.data", "kernelqp.losses", "cvxpy"),
    "kernel_audit.py": ("kernelqp.losses", "cvxpy"),
    "cross_gram.py": ("kernelqp.losses", "cvxpy"),
    "repaired.py": ("kernelqp.data", "kernelqp.losses", "cvxpy"),
    "gram.py": ("kernelqp.losses", "kernelqp.risk", "cvxpy"),
    "losses": ("kernelqp.kernels", "kernelqp.gram", "kernelqp.risk", *SOLVERS),
    "risk.py": ("cvxpy", *SOLVERS, *METHODS),
    "offset.py": ("cvxpy", "kernelqp.losses", *SOLVERS, *METHODS),
    "fenchel.py": ("kernelqp.losses", *SOLVERS, *METHODS),
    "repair.py": ("cvxpy", *SOLVERS, *METHODS),
    "nu_risks.py": ("cvxpy", *SOLVERS, *METHODS),
    "attainment.py": ("cvxpy", *SOLVERS, *METHODS),
    "newton.py": ("cvxpy", *SOLVERS, *METHODS),
    "elbow.py": ("cvxpy", *SOLVERS, *METHODS),
    "smoothing.py": ("cvxpy", *SOLVERS, *METHODS),
    "block_gram.py": ("kernelqp.losses", "kernelqp.risk", "cvxpy"),
    "diagonal_gram.py": ("kernelqp.losses", "kernelqp.risk", "cvxpy"),
    "judgement.py": ("cvxpy", "kernelqp.losses", *SOLVERS, *METHODS),
    "model_verdict.py": ("cvxpy", "kernelqp.losses", *SOLVERS, *METHODS),
    "model_certificate.py": ("cvxpy", "kernelqp.losses", "kernelqp.risk", *SOLVERS, *METHODS),
    "row_store.py": ("kernelqp", "cvxpy"),
    "threads.py": ("kernelqp", "cvxpy"),
    "gram_on.py": ("kernelqp.losses", "kernelqp.risk", "cvxpy"),
    "kernel_names.py": ("kernelqp.data", "kernelqp.losses", "cvxpy"),
    "engine_options.py": ("kernelqp.losses", "kernelqp.risk", "cvxpy", *SOLVERS, *METHODS),
    "warm_start.py": ("kernelqp.losses", "cvxpy", *SOLVERS, *METHODS),
    "roots.py": ("kernelqp", "cvxpy"),
    "growing.py": ("kernelqp.losses", "kernelqp.risk", "cvxpy"),
    "pegasos_run.py": ("cvxpy", *SOLVERS, *METHODS),
    "perceptron_run.py": ("cvxpy", *SOLVERS, *METHODS),
    "own_point.py": ("cvxpy", *SOLVERS, *METHODS),
    "scales.py": ("cvxpy", *SOLVERS, *METHODS),
    "kernel_matrix.py": ("kernelqp.data", "kernelqp.losses", "cvxpy"),
    "exact_sums.py": ("kernelqp", "cvxpy"),
    "blame.py": ("cvxpy", *SOLVERS, *METHODS),
    "certificate.py": ("cvxpy", *SOLVERS, *METHODS),
    "support.py": ("cvxpy", *SOLVERS),
    "kkt": ("kernelqp.methods", "kernelqp.losses", "kernelqp.risk"),
    "methods": SOLVERS,
    "formulation.py": ("kernelqp.losses", *METHODS),
    "statement.py": ("kernelqp.losses", *SOLVERS, *METHODS),
    "twin.py": METHODS,
    "solve.py": METHODS,
    "solver_choice.py": METHODS,
    "solution.py": ("kernelqp.losses", *SOLVERS, *METHODS),
    "solvers": ("kernelqp.methods", "kernelqp.certificate"),
    "constrained.py": ("kernelqp.losses", *METHODS),
    "lagrange_bound.py": ("kernelqp.solve", *METHODS),
    "conventions.py": ("cvxpy", *SOLVERS, *METHODS),
    "description.py": ("cvxpy", "kernelqp.losses", *SOLVERS, *METHODS),
    "compare.py": ("kernelqp.losses", *SOLVERS),
    "compared_result.py": ("kernelqp.losses", *SOLVERS),
    "problem_file": ("kernelqp.losses", *SOLVERS),
}
# a function-level import hands work on: it is how the layers below reach the ones above
HANDED_ON = {
    "risk.py": {"kernelqp.fenchel"},
    "fenchel.py": {"kernelqp.engine_page", "kernelqp.formulation"},
    "formulation.py": {"kernelqp.solve", "kernelqp.constrained"},
    # threads know nothing of what they fill, and nothing else of the package is known here
    "row_store.py": {"kernelqp.threads", "kernelqp.threads.on_all_cores"},
}


def imports(path, *, at_top_level):
    """Return the modules that a file imports when it runs, type-checking blocks left out."""
    tree = ast.parse(path.read_text())
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    nodes = tree.body if at_top_level else ast.walk(tree)
    found = set()
    for node in nodes:
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def owner(path):
    relative = path.relative_to(PACKAGE)
    return relative.parts[0]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_file_does_not_import_what_it_must_not_know(path):
    forbidden = MUST_NOT_KNOW.get(owner(path), ())
    losses_state_both_forms = owner(path) == "losses"
    found = imports(path, at_top_level=losses_state_both_forms)
    found -= HANDED_ON.get(owner(path), set())
    known = {
        name
        for name in found
        for wrong in (*forbidden, *(() if owner(path) in SHOWN else TERMINAL))
        if name == wrong or name.startswith(wrong + ".")
    }
    allowed = {"kernelqp.solve.certify_current", "kernelqp.solve.solve_formulation"}
    allowed |= {"kernelqp.solve.adopt_verdict"}
    assert not known - (allowed if owner(path) == "formulation.py" else set())


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_file_fits_one_idea(path):
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", sorted((PACKAGE / "methods").glob("*.py")), ids=lambda p: p.name)
def test_methods_do_not_know_each_other(path):
    pages = {p.stem for p in (PACKAGE / "methods").glob("*.py")}
    pages -= {"__init__", "base", "page", "margin_page", "regression_page", "unpenalized_page"}
    pages -= {"ball_ridge_page", "residual_page", "residual_words", "slacks", "logistic_page"}
    pages -= {"nu_page", "nu_regression_page", "hard_margin_forms", "pegasos_page"}
    if path.stem in pages:
        found = imports(path, at_top_level=False)
        assert not {f"kernelqp.methods.{page}" for page in pages} & found


def test_every_method_is_registered():
    from kernelqp.methods import METHODS, __all__
    from kernelqp.methods.base import Method

    assert set(METHODS) == set(Method.__subclasses__())
    assert {method.__name__ for method in METHODS} <= set(__all__) & set(kernelqp.__all__)


def test_all_is_sorted_and_exact():
    assert kernelqp.__all__ == sorted(kernelqp.__all__, key=lambda name: (not name.isupper(), name))
    for name in kernelqp.__all__:
        assert hasattr(kernelqp, name)


@pytest.mark.parametrize(
    "name", [n for n in kernelqp.__all__ if n not in ("__version__", "losses")]
)
def test_public_names_say_what_they_are(name):
    thing = getattr(kernelqp, name)
    assert thing.__doc__
    assert not thing.__doc__.startswith(f"{name}(")  # a generated signature is no docstring


def test_nothing_is_pickled():
    for path in FILES:
        assert not {"pickle", "joblib", "dill"} & imports(path, at_top_level=False)
