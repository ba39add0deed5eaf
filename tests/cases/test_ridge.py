"""Ridge regression as its users met it: coinciding rows, no intercept, columns of targets."""

import numpy as np
import pytest

import kernelqp as kq

near = pytest.approx
EQUAL_X, EQUAL_Y = np.array([[0.0], [0.0], [1.0]]), np.array([1.0, 3.0, 5.0])
SHIFT_X, SHIFT_Y = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([101.0, 103.0, 102.0, 98.0])
LINE_X, LINE_Y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([1.0, 2.0, 2.0, 4.0])


def equal_rows(lam):
    ridge = kq.RegularizedLeastSquares(lam=lam, kernel=kq.RBF(gamma=1.0), intercept="none")
    return ridge.solve(EQUAL_X, EQUAL_Y)


def test_equal_rows_with_different_targets():
    solution = equal_rows(0.1)
    assert solution.alpha.tolist() == near([-9.8231758007, 10.1768241993, 4.4271818407], rel=1e-9)
    fitted = [1.9823175801, 1.9823175801, 4.5572818159]
    assert solution.predict(EQUAL_X).tolist() == near(fitted, rel=1e-9)


@pytest.mark.parametrize(
    ("lam", "fitted", "tol", "value"),
    [
        (1e-6, [1.9999999071, 1.9999999071, 4.9999950683], 1e-6, 1.0000125149030095),
        # multipliers of 1e10 that cancel; values are those of rational arithmetic
        (1e-10, [2.0, 2.0, 5.0], 1e-5, 1.0000000012514916),
    ],
)
def test_as_lam_falls_the_fit_keeps_its_figures(lam, fitted, tol, value):
    solution = equal_rows(lam)
    assert solution.certificate.certified
    assert solution.value == near(value, rel=1e-10)
    assert solution.predict(EQUAL_X).tolist() == near(fitted, abs=tol)


def test_lam_0_of_a_kernel_names_lam():
    with pytest.raises(kq.InputError, match="lam"):
        equal_rows(0.0)


def test_a_free_intercept_carries_the_level():
    ridge = kq.RegularizedLeastSquares(kernel=kq.RBF(gamma=0.5))
    solution = ridge.solve(SHIFT_X, SHIFT_Y)
    alpha = [-0.1897602148, 1.1055353181, 0.4450516971, -1.3608268004]
    assert solution.alpha.tolist() == near(alpha, rel=1e-8)
    assert solution.intercept == near(100.6492046728, rel=1e-10)
    assert 2 * solution.value == near(6.7386027346, rel=1e-9)
    assert solution.alpha.sum() == near(0.0, abs=1e-12)
    assert solution.predict([[50.0]])[0] == near(100.6492046728, rel=1e-10)
    moved = ridge.solve(SHIFT_X, SHIFT_Y + 1000.0)
    assert moved.intercept - solution.intercept == near(1000.0, rel=1e-10)
    assert moved.alpha.tolist() == near(solution.alpha.tolist(), abs=1e-9)


def test_without_an_intercept_the_fit_is_dragged_to_0():
    ridge = kq.RegularizedLeastSquares(kernel=kq.RBF(gamma=0.5), intercept="none")
    solution = ridge.solve(SHIFT_X, SHIFT_Y)
    fitted = [61.5267448188, 74.8440527061, 65.3466360138, 51.6432597598]
    assert solution.predict(SHIFT_X).tolist() == near(fitted, rel=1e-9)
    assert solution.predict([[50.0]])[0] == 0.0


@pytest.mark.parametrize("y", [LINE_Y, LINE_Y[:, None], LINE_Y.tolist(), LINE_Y.astype(np.float32)])
def test_a_column_of_targets_is_one_target(y):
    solution = kq.RegularizedLeastSquares(intercept="none").solve(LINE_X, y)
    assert solution.weights.tolist() == near([24.0 / 27.0], rel=1e-10)
    assert np.shape(solution.residuals) == (4,)


def frozen(a):
    a = a.copy()
    a.setflags(write=False)
    return a


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "read only": frozen,
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_what_was_passed_is_left_as_it_was(layout, kernel):
    rows = LINE_X if kernel == "linear" else LINE_X @ LINE_X.T
    given = [LAYOUTS[layout](a) for a in (rows, LINE_Y, np.array([1.0, 2.0, 3.0, 4.0]))]
    before = [a.copy() for a in given]
    ridge = kq.RegularizedLeastSquares(kernel=kernel, intercept="none")
    solution = ridge.solve(*given[:2])
    ridge.solve(*given)
    ridge.path(given[0], given[1], [0.5, 1.0], given[2])
    kq.ConstrainedRidge(radius=1.0, kernel=kernel).solve(*given)
    assert solution.predict(given[0]).tolist() == near((24.0 / 27.0 * LINE_X[:, 0]).tolist())
    assert all((a == b).all() for a, b in zip(given, before, strict=True))


@pytest.mark.parametrize("lam", [-1.0, np.nan, np.inf, "1", None, True])
def test_a_lam_out_of_range_is_named(lam):
    with pytest.raises(kq.InputError, match=r"\blam\b"):
        kq.RegularizedLeastSquares(lam=lam)


@pytest.mark.parametrize("lam", [1e-9, 1e-3, 1e9])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_any_size_of_features_and_lam_is_certified(lam, scale, kernel):
    rng = np.random.default_rng(0)
    X = scale * (rng.normal(size=(40, 3)) + 5.0)
    y = rng.normal(size=40)
    solution = kq.RegularizedLeastSquares(lam=lam * scale**2, kernel=kernel).solve(X, y)
    assert solution.status is kq.Status.CERTIFIED, solution.certificate


@pytest.mark.parametrize("X", [[[1.0]], [[1.0], [1.0]], [[0.0, 0.0], [0.0, 0.0]]])
def test_one_row_constant_features_and_zeros(X):
    y = np.arange(len(X)) + 1.0
    for method in (kq.RegularizedLeastSquares(), kq.ConstrainedRidge(radius=1.0)):
        solution = method.solve(X, y)
        assert solution.certificate.certified
        assert solution.predict(X).tolist() == near([y.mean()] * len(X), abs=1e-9)
