import dataclasses
import io

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rich.console import Console

from kernelqp.errors import DataError, KernelError
from kernelqp.kernel_algebra import exp, normalize
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
from kernelqp.repaired import Repaired

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])


class Boast(Linear):
    """A kernel that claims too much."""

    def __call__(self, X, Z=None):
        return -super().__call__(X, Z)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        RBF(0.3),
        Laplacian(),
        Polynomial(2, 0.3, 1.0),
        Sigmoid(0.01, 1.0),
        CallableKernel(lambda A, B: A @ B.T + 1.0),
        RBF() + Linear(),
        Repaired(Sigmoid(0.3)),
    ],
    ids=repr,
)
def test_every_kernel_is_measured_as_numpy_measures_it(kernel):
    audit = kernel.audit(X)
    K = kernel.bind(X)(X)
    values = np.linalg.eigvalsh(K)
    assert_allclose(audit.smallest_eigenvalue, values[0], atol=1e-12 * values[-1])
    assert_allclose(audit.largest_eigenvalue, values[-1], rtol=1e-12)
    assert audit.effective_rank == np.sum(values > 30 * np.finfo(float).eps * values[-1])
    assert audit.diagonal_range == (np.diagonal(K).min(), np.diagonal(K).max())
    assert (audit.n, audit.finite, audit.symmetric, audit.asymmetry) == (30, True, True, 0.0)
    assert audit.kernel == kernel.bind(X)


@pytest.mark.parametrize(
    ("kernel", "points", "verdict"),
    [
        (RBF(), X, "positive semidefinite by construction"),
        (exp(RBF()) + Linear(), X, "positive semidefinite by construction"),
        (Polynomial(20, 1.0, 1.0), X, "positive semidefinite by construction"),
        (Precomputed(), [[2, 1], [1, 2]], "positive semidefinite, measured"),
        (Precomputed(), [[0.0]], "positive semidefinite, measured"),
        (CallableKernel(lambda A, B: A @ B.T), X[:4], "positive semidefinite, measured"),
        (CallableKernel(lambda A, B: A @ B.T), X, "positive semidefinite up to rounding"),
        (Precomputed(), [[1.0, 1.0], [1.0, 1.0]], "positive semidefinite up to rounding"),
        (Precomputed(), INDEFINITE, "not positive semidefinite"),
        (Precomputed(), [[-1.0]], "not positive semidefinite"),
        (Precomputed(), [[2.0, 1.0], [0.0, 2.0]], "not positive semidefinite"),
        (Repaired(Precomputed(), "shift"), INDEFINITE, "not positive semidefinite"),
        (Boast(), X, "not positive semidefinite"),
        (Precomputed(), [[1.0, np.nan], [np.nan, 1.0]], "not measured: the matrix is not finite"),
    ],
)
def test_the_verdict_is_a_word(kernel, points, verdict):
    assert kernel.audit(points).verdict == verdict


class Inexact(RBF):
    """The matrix of two equal points, with an error far above that of a sum."""

    def __call__(self, X, Z=None):  # noqa: ARG002
        return np.array([[1.0, 1.0 + 1e-10], [1.0 + 1e-10, 1.0]])


def test_a_kernel_keeps_its_word_where_its_values_are_only_inexact():
    audit = Inexact(1.0).audit(X[:2])
    assert_allclose(audit.smallest_eigenvalue, -1e-10, rtol=1e-4)
    assert audit.verdict == "positive semidefinite by construction"
    assert Precomputed().audit(audit.kernel(X)).verdict == "not positive semidefinite"


def test_numbers_of_an_indefinite_matrix():
    audit = Precomputed().audit(INDEFINITE)
    assert_allclose([audit.smallest_eigenvalue, audit.largest_eigenvalue], [-1.0, 3.0])
    assert audit.effective_rank == 1
    assert len(audit.warnings) == 1
    for word in ("not positive semidefinite", "-1", "kq.Repaired(kernel, 'clip')"):
        assert word in audit.warnings[0]
    assert "before kq.Repaired repairs it" in Repaired(Precomputed()).audit(INDEFINITE).warnings[0]


def test_an_asymmetric_matrix_is_reported_with_the_size_of_the_gap():
    audit = Precomputed().audit([[2.0, 1.0], [0.5, 2.0]])
    assert (audit.symmetric, audit.asymmetry) == (False, 0.5)
    assert_allclose([audit.smallest_eigenvalue, audit.largest_eigenvalue], [1.25, 2.75])
    assert len(audit.warnings) == 1
    assert "not symmetric" in audit.warnings[0]
    assert "(K + K') / 2" in audit.warnings[0]


def test_rounding_is_symmetric_but_its_size_is_shown():
    audit = Precomputed().audit([[2.0, 1.0], [1.0 + 2e-16, 2.0]])
    assert audit.symmetric
    assert 0 < audit.asymmetry < 1e-15
    single = np.array([[2.0, 1.0], [1.0 + 2e-7, 2.0]])
    assert not Precomputed().audit(single).symmetric
    assert Precomputed().audit(single.astype(np.float32)).symmetric


@pytest.mark.parametrize(
    ("kernel", "points", "symmetric"),
    [
        (exp(Linear()), [[1e3], [1.0]], True),
        (Polynomial(20, 1.0, 1.0), [[1e20], [-1e20]], True),
        (normalize(exp(Linear())), [[1e3], [1.0]], True),
        (Precomputed(), [[1e308, 1e308], [1e308, 1e308]], True),
        (Precomputed(), [[1.0, np.inf], [2.0, 1.0]], False),
        (Precomputed(), [[1.0, np.nan], [2.0, 1.0]], False),
    ],
)
def test_a_matrix_that_is_not_finite_is_reported(kernel, points, symmetric):
    audit = kernel.audit(points)
    assert (audit.finite, audit.symmetric, audit.effective_rank) == (False, symmetric, 0)
    assert np.isnan([audit.smallest_eigenvalue, audit.largest_eigenvalue]).all()
    assert any(w.startswith("not finite") and "scale the features" in w for w in audit.warnings)


@pytest.mark.parametrize("kernel", [RBF(1e-7), Laplacian(1e-6), 2.0 * RBF(1e-7)], ids=repr)
def test_a_nearly_constant_matrix_is_told_to_raise_gamma(kernel):
    assert kernel.audit(X).warnings == ("nearly constant: gamma is too small, raise it",)


@pytest.mark.parametrize(
    "kernel", [RBF(1e3), Laplacian(1e2), Linear() * RBF(1e3), normalize(RBF(1e3))], ids=repr
)
def test_a_matrix_near_the_identity_is_told_to_lower_gamma(kernel):
    assert kernel.audit(X).warnings == (
        "nearly the identity: every row is only similar to itself; lower gamma",
    )


def test_duplicates_are_no_warning_and_hide_none():
    twice = np.r_[X, X]
    assert RBF().audit(twice).warnings == ()
    assert RBF().audit(twice).effective_rank == 30
    assert "lower gamma" in RBF(1e3).audit(twice).warnings[0]


def test_a_few_neighbours_do_not_hide_a_matrix_near_the_identity():
    points = np.r_[np.arange(60.0), 0.01][:, None]
    warning = RBF(1e2).audit(points).warnings[0]
    assert warning.startswith("nearly the identity: 59 of 61 rows are only similar to themselves")
    pairs = np.r_[np.arange(60.0), np.arange(60.0) + 0.01][:, None]
    assert RBF(1e2).audit(pairs).warnings == ()


@pytest.mark.parametrize("kernel", [RBF(), Laplacian(), Linear(), RBF() + Linear()], ids=repr)
def test_a_good_kernel_has_no_warning(kernel):
    assert kernel.audit(X).warnings == ()
    assert kernel.audit(X[:1]).warnings == ()


@pytest.mark.parametrize(
    ("kernel", "points", "words"),
    [
        (Linear(), X + 1e5, ["nearly constant", "centre the features"]),
        (Precomputed(), np.ones((3, 3)), ["nearly constant", "centre K"]),
        (Precomputed(), np.eye(5), ["nearly the identity", "wider kernel"]),
        (RBF(), np.ones((3, 2)), ["same point"]),
    ],
)
def test_a_remedy_is_one_that_the_kernel_has(kernel, points, words):
    (warning,) = kernel.audit(points).warnings
    assert "gamma" not in warning
    for word in words:
        assert word in warning


def test_a_wide_diagonal_is_told_to_normalise():
    wide = np.array([[1.0, 0.5], [2e3, 1.0], [0.0, 0.0]])  # the row of length 0 counts for nothing
    (warning,) = Linear().audit(wide).warnings
    assert "3.2e+06" in warning
    assert "scale the features or use normalize(kernel)" in warning
    assert normalize(Linear()).audit(wide).warnings == ()
    assert Linear().audit(wide / [[1.0], [3.0], [1.0]]).warnings == ()
    (warning,) = Precomputed().audit([[1e7, 1e3], [1e3, 1.0]]).warnings
    assert "divide K_ij by sqrt(K_ii K_jj)" in warning


def test_the_audit_is_printed_as_text_and_as_a_table_of_rich():
    audit = Precomputed().audit(INDEFINITE)
    text = str(audit)
    console = Console(file=io.StringIO(), width=200)
    console.print(audit)
    for shown in (text, console.file.getvalue()):
        for word in ("Precomputed()", "-1 to 3", "not positive semidefinite", "1 of 2", "warning"):
            assert word in shown
    assert text.splitlines()[1].split() == ["rows", "2"]


def test_the_audit_is_frozen_and_every_kernel_has_it():
    audit = Linear().audit(X)
    with pytest.raises(dataclasses.FrozenInstanceError):
        audit.n = 1
    assert all(hasattr(kind, "audit") for kind in (*Kernel.__subclasses__(), Repaired))


@pytest.mark.parametrize(
    ("kernel", "points", "error"),
    [
        (RBF(), [[np.nan]], DataError),
        (RBF(), [1.0, 2.0], DataError),
        (Precomputed(), [[1.0, 2.0]], KernelError),
        (Precomputed(), [["a"]], DataError),
        (CallableKernel(lambda A, B: A), X, KernelError),
    ],
)
def test_what_cannot_be_read_is_an_error(kernel, points, error):
    with pytest.raises(error):
        kernel.audit(points)
