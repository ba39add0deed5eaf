"""The perceptron: its mistakes, the bound on them, and the hard margin that judges its plane."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

import kernelqp as kq
from kernelqp.errors import ParameterError
from kernelqp.perceptron_run import PerceptronRun

KERNELS = {"linear": kq.Linear(), "rbf": kq.RBF(gamma=0.5), "polynomial": kq.Polynomial(2, 1, 1)}
INTERCEPTS = ("none", "penalized")
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
XOR = ([[1, 1], [1, -1], [-1, 1], [-1, -1]], [-1, 1, 1, -1])


def separable_data(seed, n=30, d=3):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    X = rng.normal(size=(4 * n, d))
    z = X @ w / np.linalg.norm(w)
    keep = np.flatnonzero(np.abs(z) > 0.2)[:n]
    return X[keep], np.sign(z[keep]).astype(int)


def iris(other):
    X, y = load_iris(return_X_y=True)
    rows = np.isin(y, (0, other))
    return X[rows], y[rows]


def digits():
    X, y = load_digits(return_X_y=True)
    return X[y < 2], y[y < 2]


REAL = {
    "iris setosa, versicolor": iris(1),
    "iris setosa, virginica": iris(2),
    "digits 0, 1": digits(),
}
every_real = pytest.mark.parametrize("name", REAL)


# --- mistakes ------------------------------------------------------------------------------------


def by_hand(K, y, epochs):
    """Return the mistakes of the algorithm on the Gram matrix, by the counts m."""
    m, made = np.zeros(len(y)), []
    for _ in range(epochs):
        before = m.sum()
        for i in range(len(y)):
            hit = y[i] * (K[i] @ (y * m)) <= 0
            m[i] += hit
            made.append(bool(hit))
        if m.sum() == before:
            break
    return m.astype(int).tolist(), made


@pytest.mark.parametrize("seed", range(5))
@every_kernel
@every_intercept
def test_both_forms_make_the_mistakes_of_the_textbook(seed, kernel, intercept):
    X, y = separable_data(seed)
    X = np.round(X * 8) / 8  # no rounding without an exponential, and ties at 0
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    method = kq.Perceptron(epochs=50, kernel=KERNELS[kernel], intercept=intercept)
    K = KERNELS[kernel](X) + (intercept == "penalized")
    counts, made = by_hand(K, y, 50)
    for form in ("counts", *(("weights",) if kernel == "linear" else ())):
        trace = method.run(X, y, form=form)
        assert trace.counts.tolist() == counts
        assert trace.acted.tolist() == made
        assert trace.mistakes == sum(counts)
    assert method.solve(X, y).counts.tolist() == counts


@every_real
@every_intercept
def test_weights_and_counts_make_the_same_mistakes_on_real_data(name, intercept):
    X, y = REAL[name]
    method = kq.Perceptron(intercept=intercept)
    one, other = (method.run(X, y, form=form) for form in ("weights", "counts"))
    assert one.acted.tolist() == other.acted.tolist()
    assert one.separated
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)


def test_a_tie_that_rounding_breaks_is_a_mistake_in_both_forms():
    """0.1 + 0.2 − 0.3 is 5.6e-17 in one order of the sum: f(x_2) is 0 all the same."""
    X = [[0.1, 0.2, 0.3], [-0.1, -0.2, -0.3], [1.0, 1.0, -1.0]]
    for y in ([1, -1, 1], [1, -1, -1]):
        for form in ("weights", "counts"):
            trace = kq.Perceptron(epochs=1).run(X, y, form=form)
            assert trace.acted.tolist() == [True, False, True]


def test_a_value_that_is_small_but_no_rounding_is_no_mistake():
    """Two rows far apart under a Gaussian: f(x_2) = 1e-22 is right, and exact."""
    trace = kq.Perceptron(kernel=kq.RBF(gamma=0.5)).run([[0.0], [10.0], [-50.0]], [1, 1, -1])
    assert trace.acted[:3].tolist() == [True, False, True]


def test_rows_are_taken_in_their_order_until_an_epoch_without_a_mistake():
    X, y = separable_data(3)
    trace = kq.Perceptron().run(X, y)
    epochs = trace.acted.reshape(-1, len(y))
    assert trace.indices.tolist() == list(range(len(y))) * len(epochs)
    assert epochs[:-1].any(axis=1).all()
    assert not epochs[-1].any()
    assert trace.separated


def test_another_order_is_taken_as_it_is_given():
    X, y = separable_data(3)
    order = np.random.default_rng(0).permutation(len(y))
    trace = kq.Perceptron().run(X, y, indices=order)
    moved = kq.Perceptron(epochs=1).run(X[order], y[order])
    assert trace.indices.tolist() == order.tolist()
    assert trace.acted.tolist() == moved.acted.tolist()
    assert trace.counts[order].tolist() == moved.counts.tolist()


def test_solve_is_the_run():
    X, y = separable_data(1)
    method = kq.Perceptron(intercept="penalized")
    solution, trace = method.solve(X, y), method.run(X, y)
    assert solution.solver == "perceptron"
    assert solution.mistakes == trace.mistakes == trace.counts.sum()
    assert solution.counts.tolist() == trace.counts.tolist()
    assert solution.predict(X).tolist() == y.tolist()
    m = (y * trace.values).min()
    np.testing.assert_allclose(solution.weights, trace.weights / m, rtol=1e-12)
    np.testing.assert_allclose(solution.beta, trace.beta / m, rtol=1e-12)
    assert solution.intercept == pytest.approx(trace.intercept / m)


def test_weights_have_no_effect_but_0():
    X, y = separable_data(1)
    s = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weighted = kq.Perceptron().run(X, y, s)
    fewer = kq.Perceptron().run(X[s > 0], y[s > 0])
    assert weighted.counts[s > 0].tolist() == fewer.counts.tolist()
    assert not weighted.counts[s == 0].any()
    assert np.isnan(weighted.values[s == 0]).all()
    assert set(weighted.indices) == set(np.flatnonzero(s))
    assert kq.Perceptron().solve(X, y, s).counts.tolist() == weighted.counts.tolist()


# --- Novikoff's bound ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_no_order_of_separable_rows_makes_more_mistakes_than_the_bound(seed):
    X, y = separable_data(seed)
    rng = np.random.default_rng(seed)
    for intercept in INTERCEPTS:
        method = kq.Perceptron(intercept=intercept)
        bound = method.bound(X, y)
        for _ in range(3):
            order = rng.permutation(len(y))
            trace = method.run(X[order], y[order])
            assert trace.separated
            assert 0 < trace.mistakes <= bound


@every_real
@every_kernel
@every_intercept
def test_real_data_keep_the_bound(name, kernel, intercept):
    X, y = REAL[name]
    X = X[::4] / np.abs(X).max()
    method = kq.Perceptron(kernel=KERNELS[kernel], intercept=intercept, epochs=5000)
    trace = method.run(X, y[::4])
    assert trace.separated
    assert trace.mistakes <= method.bound(X, y[::4])


def test_the_bound_by_hand():
    X, y = [[3.0, 4.0], [0.0, -1.0]], [1, -1]
    assert kq.Perceptron().bound(X, y) == pytest.approx(25.0)  # M = 1: w = (0, 1)
    plane = kq.HardMarginSVM(intercept="penalized").solve(X, y)
    bound = kq.Perceptron(intercept="penalized").bound(X, y)
    assert bound == pytest.approx(26.0 / plane.geometric_margin**2, rel=1e-5)
    assert kq.Perceptron().bound(*XOR) == float("inf")


def test_the_bound_is_met_by_the_rows_that_meet_it():
    """Unit vectors along the axes: n mistakes, and (R/M)² = n."""
    n = 7
    X, y = np.eye(n), np.resize([1, -1], n)
    assert kq.Perceptron().run(X, y).mistakes == n
    assert kq.Perceptron().bound(X, y) == pytest.approx(n)


# --- the certificate -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@every_kernel
@every_intercept
def test_its_bounds_enclose_the_best_plane(seed, kernel, intercept):
    X, y = separable_data(seed)
    method = kq.Perceptron(kernel=KERNELS[kernel], intercept=intercept)
    solution, trace = method.solve(X, y), method.run(X, y)
    best = kq.HardMarginSVM(kernel=KERNELS[kernel], intercept=intercept).solve(X, y).certificate
    c = solution.certificate
    assert c.dual_value * (1 - 1e-9) <= best.primal_value
    assert best.dual_value <= c.primal_value * (1 + 1e-9)
    norm2 = trace.beta @ trace.values
    m = (y * trace.values).min()
    assert solution.value == pytest.approx(norm2 / (2 * m * m), rel=1e-9)
    assert c.dual_value >= trace.mistakes**2 / (2 * norm2) * (1 - 1e-9)  # of the counts alone
    assert solution.status is kq.Status.NOT_CERTIFIED
    assert c.repair == 0.0
    assert solution.geometric_margin == pytest.approx(m / np.sqrt(norm2), rel=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1e-2, 1e2, 1e6])
@pytest.mark.parametrize("seed", range(6))
def test_in_any_unit_the_bound_is_that_of_the_counts_or_better(unit, seed):
    X, y = separable_data(seed)
    trace = kq.Perceptron().run(unit * X, y)
    least = trace.mistakes**2 / (2 * trace.weights @ trace.weights)
    assert kq.Perceptron().solve(unit * X, y).certificate.dual_value >= least * (1 - 1e-12)


def test_a_plane_that_is_the_best_one_is_certified():
    solution = kq.Perceptron().solve(np.eye(4), [1, -1, 1, -1])
    assert solution.status is kq.Status.CERTIFIED
    assert solution.value == pytest.approx(2.0)
    assert solution.mistakes == 4


def test_data_that_no_plane_separates_end_after_the_epochs():
    method = kq.Perceptron(epochs=7)
    solution = method.solve(*XOR)
    assert solution.status is kq.Status.LIMIT
    assert solution.value == float("inf")
    assert len(method.run(*XOR).indices) == 28
    assert not method.run(*XOR).separated
    assert isinstance(method.solve(*XOR, solver="CLARABEL"), kq.Infeasible)
    assert not kq.separable(*XOR, intercept="none")
    squared = kq.Perceptron(kernel=kq.Polynomial(2, 1, 1)).solve(*XOR)
    assert np.isfinite(squared.value)


def test_the_last_epoch_may_find_the_plane_without_having_seen_it():
    """Its plane counts, although the epoch that would have found no mistake did not come."""
    solution = kq.Perceptron(epochs=1).solve([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    assert solution.value == pytest.approx(1.0)
    assert solution.status is kq.Status.CERTIFIED


def test_a_plane_found_in_the_last_epoch_counts():
    X, y = separable_data(3)
    enough = len(kq.Perceptron().run(X, y).indices) // len(y)
    last = kq.Perceptron(epochs=enough - 1).solve(X, y)  # the one without a mistake does not come
    assert last.status is kq.Status.NOT_CERTIFIED
    assert last.value == kq.Perceptron().solve(X, y).value


ODD = {
    "opposite labels on one point": ([[1.0, 2.0], [1.0, 2.0]], [1, -1], False),
    "a row of zeros": ([[0.0, 0.0], [1.0, 2.0]], [1, -1], False),
    "only zeros": (np.zeros((4, 2)), [1, -1, 1, -1], False),
    "duplicates": (np.repeat(np.eye(3), 3, axis=0), np.repeat([1, -1, 1], 3), True),
    "huge features": (1e6 * separable_data(0)[0], separable_data(0)[1], True),
    "tiny features": (1e-6 * separable_data(0)[0], separable_data(0)[1], True),
    "integers": (np.array([[200, 1], [1, 200]], dtype=np.uint8), ["b", "a"], True),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_data(name):
    X, y, separated = ODD[name]
    method = kq.Perceptron(epochs=200)
    solution = method.solve(X, y)
    assert method.run(X, y).separated == separated
    assert np.isfinite(solution.value) == separated
    assert solution.certificate.dual_value >= 0.0
    if separated:
        assert solution.certificate.dual_value <= solution.value * (1 + 1e-12)
        assert solution.mistakes <= method.bound(X, y)
        assert solution.predict(X).tolist() == np.asarray(y).tolist()
    else:
        assert solution.status is kq.Status.LIMIT
        assert method.bound(X, y) == float("inf")


# --- the page, interrupts, parameters ------------------------------------------------------------


@every_kernel
@every_intercept
def test_its_page_is_the_hard_margin(kernel, intercept):
    X, y = separable_data(2)
    common = {"kernel": KERNELS[kernel], "intercept": intercept}
    for form in ("coefficients", "max_margin", "dual"):
        found, plain = (
            m.solve(X, y, form=form, solver="CLARABEL")
            for m in (kq.Perceptron(**common), kq.HardMarginSVM(**common))
        )
        assert found.certificate.certified
        assert found.value == plain.value
        assert kq.check_kkt(found).holds


def test_ctrl_c_ends_it_with_what_it_has_learnt(monkeypatch):
    visit = PerceptronRun.visit

    def visiting(self, order):
        if self.mistakes > 3:
            raise KeyboardInterrupt
        return visit(self, order)

    monkeypatch.setattr(PerceptronRun, "visit", visiting)
    solution = kq.Perceptron().solve(*XOR)
    assert solution.status is kq.Status.LIMIT
    assert solution.mistakes == solution.counts.sum() > 3


def test_ctrl_c_before_the_first_row_goes_on(monkeypatch):
    def visiting(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(PerceptronRun, "visit", visiting)
    with pytest.raises(KeyboardInterrupt):
        kq.Perceptron().solve(*XOR)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number >= 1; got 0"),
        ({"epochs": True}, "epochs must be a whole number"),
        ({"intercept": "free"}, "intercept='free' is not .* 'penalized' .* HardMarginSVM"),
        ({"intercept": 1}, "intercept must be one of"),
    ],
)
def test_a_parameter_out_of_range_is_refused(bad, message):
    with pytest.raises(ParameterError, match=message):
        kq.Perceptron(**bad)


def test_what_solve_and_run_refuse():
    with pytest.raises(ParameterError, match="takes no options; got 'max_iter'"):
        kq.Perceptron().solve(*XOR, max_iter=3)
    with pytest.raises(ParameterError, match="tol must be a finite number > 0"):
        kq.Perceptron().solve(*XOR, tol=-1.0)
    with pytest.raises(ParameterError, match="needs explicit features"):
        kq.Perceptron(kernel="rbf").run(*XOR, form="weights")
