"""Pegasos: its page is the engine's problem, its bounds enclose the optimum, its runs repeat."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_iris

import kernelqp as kq
from kernelqp import own_point, pegasos_solve
from kernelqp.errors import DataError, ParameterError
from kernelqp.pegasos_run import PegasosRun

RNG = np.random.default_rng(4)
N = 40
Y = np.resize([1, -1], N)
X = RNG.normal(size=(N, 3)) + 0.7 * np.c_[Y, Y, np.zeros(N)]
WEIGHTS = RNG.integers(0, 3, N).astype(float)
KERNELS = {"linear": kq.Linear(), "rbf": kq.RBF(gamma=0.5), "polynomial": kq.Polynomial(2, 0.5, 1)}
INTERCEPTS = ("none", "penalized")
VARIANTS = {
    "single": {},
    "batch": {"batch": 7},
    "full": {"batch": "full"},
    "project": {"project": True},
    "average": {"average": True},
    "batch, project, average": {"batch": 6, "project": True, "average": True},
    "full, project, average": {"batch": "full", "project": True, "average": True},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
weighted = pytest.mark.parametrize("s", [None, WEIGHTS], ids=["plain", "weighted"])


def method(kernel="linear", intercept="none", lam=0.05, **more):
    return kq.Pegasos(lam=lam, kernel=KERNELS[kernel], intercept=intercept, **more)


def optimum(m, s=None, data=(X, Y)):
    return m.solve(*data, s, form="dual", solver="CLARABEL", tol=1e-9).value


# --- the page ------------------------------------------------------------------------------------


@every_kernel
@every_intercept
@weighted
def test_every_form_of_the_page_is_the_soft_margin_in_other_units(kernel, intercept, s):
    m, S = method(kernel, intercept, class_weight={1: 2.0}), np.ones(N) if s is None else s
    total = float(S @ np.where(Y > 0, 2.0, 1.0))
    soft = kq.SoftMarginSVM(
        C=1 / (0.05 * total), kernel=KERNELS[kernel], intercept=intercept, class_weight={1: 2.0}
    ).solve(X, Y, s, tol=1e-9)
    for form in ("dual", "coefficients", *(("weights",) if kernel == "linear" else ())):
        page = m.dual(X, Y, s) if form == "dual" else m.primal(X, Y, s, form=form)
        page.problem.solve(solver="CLARABEL")
        assert page.problem.value == pytest.approx(0.05 * soft.value, rel=1e-6)
        literal = page.solution()
        assert literal.certificate.certified
        solved = page.solve(solver="CLARABEL", tol=1e-9)
        assert solved.certificate.certified
        assert solved.value == pytest.approx(0.05 * soft.value, rel=1e-6)
        assert kq.check_kkt(page).holds
        assert kq.check_kkt(solved).holds
        new = solved.decision_function(X)
        np.testing.assert_allclose(new, soft.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("form", ["dual", "weights", "coefficients"])
def test_multipliers_that_are_written_are_those_of_a_literal_solve(form):
    m = method(intercept="penalized")
    page = m.dual(X, Y) if form == "dual" else m.primal(X, Y, form=form)
    page.problem.solve(solver="CLARABEL")
    literal = {name: np.ravel(c.dual_value) for name, c in page.constraints.items()}
    page.solve(solver="CLARABEL", tol=1e-9)
    for name, value in literal.items():
        np.testing.assert_allclose(np.ravel(page.constraints[name].dual_value), value, atol=1e-5)


@pytest.mark.parametrize("form", ["dual", "weights", "coefficients"])
def test_lam_is_a_parameter(form):
    page = method().dual(X, Y) if form == "dual" else method().primal(X, Y, form=form)
    assert page.problem.is_dpp()
    page.parameters["lam"].value = 0.3
    solution = page.solve()
    assert solution.method.lam == 0.3
    assert solution.value == pytest.approx(optimum(method(lam=0.3)), rel=1e-6)


def test_constraints_of_your_own():
    page = method().primal(X, Y)
    found = page.with_constraints([page.variables["w"] >= 0]).solve()
    assert found.certificate.certified
    assert found.value >= optimum(method()) * (1 - 1e-9)


# --- the algorithm -------------------------------------------------------------------------------


@every_variant
@every_kernel
@every_intercept
@weighted
def test_the_bounds_enclose_the_optimum(variant, kernel, intercept, s):
    m = method(kernel, intercept, epochs=20, **VARIANTS[variant])
    best, solution = optimum(m, s), m.solve(X, Y, s)
    c = solution.certificate
    assert solution.solver == "Pegasos"
    assert solution.value == c.primal_value
    assert c.dual_value - 1e-9 * best <= best <= c.primal_value + 1e-9 * best
    assert c.repair == 0.0
    assert c.stationarity == pytest.approx(0.0, abs=1e-12)
    assert (solution.history[:, 1] >= best * (1 - 1e-9)).all()
    assert (solution.history[:, 2] <= best * (1 + 1e-9)).all()
    assert (np.diff(solution.history[:, 2]) >= 0).all()


@every_variant
@every_kernel
@every_intercept
@weighted
def test_the_value_is_the_objective_of_the_algorithm_s_own_f(variant, kernel, intercept, s):
    """By hand, from the trace of the same run."""
    m = method(kernel, intercept, epochs=9, **VARIANTS[variant])
    solution, trace = m.solve(X, Y, s), m.run(X, Y, s)
    S = np.ones(N) if s is None else s
    used = S > 0
    K = KERNELS[kernel].bind(X[used])(X) + (intercept == "penalized")
    norm2 = trace.beta @ K @ trace.beta
    loss = S @ np.maximum(0.0, 1.0 - Y * (K @ trace.beta)) / S.sum()
    assert solution.value == pytest.approx(0.5 * m.lam * norm2 + loss, rel=1e-9)
    np.testing.assert_allclose(solution.beta, trace.beta, rtol=1e-9, atol=1e-12)
    assert solution.counts.tolist() == trace.counts.tolist()
    np.testing.assert_allclose(solution.decision_function(X)[used], trace.values[used], rtol=1e-7)
    assert solution.intercept == pytest.approx(trace.intercept, rel=1e-9)
    if kernel == "linear":
        np.testing.assert_allclose(solution.weights, trace.weights, rtol=1e-9, atol=1e-12)


def updates(m, rows, y, shares, order):
    """Return every w of the textbook's update, one w after another, shares B s_i/S."""
    w, seen = np.zeros(rows.shape[1]), []
    for t, batch in enumerate(order, 1):
        hit = batch[y[batch] * (rows[batch] @ w) < 1]
        w = (1 - 1 / t) * w + (shares[hit] * y[hit]) @ rows[hit] / (m.lam * t)
        if m.project:
            w = min(1.0, 1 / np.sqrt(m.lam) / np.linalg.norm(w)) * w
        seen.append(w)
    return np.array(seen)


@every_variant
@weighted
@pytest.mark.parametrize("form", ["weights", "counts"])
@pytest.mark.parametrize("lam", [1e-6, 0.05])
def test_every_step_is_that_of_the_textbook(variant, s, form, lam):
    m = method(epochs=6, lam=lam, **VARIANTS[variant])
    trace = m.run(X, Y, s, form=form, record=True)
    S = np.ones(N) if s is None else s
    order = np.split(trace.indices, np.flatnonzero(np.diff(trace.steps)) + 1)
    share = len(order) / m.epochs * S / S.sum()
    seen = updates(m, X, Y, share, order)
    if m.average:
        seen = np.cumsum(seen, axis=0) / np.arange(1, len(seen) + 1)[:, None]
    size = np.abs(seen).max()
    np.testing.assert_allclose(trace.weights_by_step, seen, atol=1e-11 * size)
    np.testing.assert_allclose(trace.beta_by_step @ X, seen, atol=1e-11 * size)


def test_the_full_batch_is_the_gradient_step_of_all_rows():
    """w ← w − 1/(t lam) (lam w − mean of y x over the violations)."""
    m, w = method(batch=None, epochs=30), np.zeros(3)
    for t in range(1, 31):
        hit = Y * (X @ w) < 1
        w = w - (m.lam * w - (Y * hit) @ X / N) / (t * m.lam)
    assert m.batch == "full"
    np.testing.assert_allclose(m.run(X, Y).weights, w, rtol=1e-10)
    np.testing.assert_allclose(method(batch=10**6, epochs=30).run(X, Y).weights, w, rtol=1e-10)


@weighted
@pytest.mark.parametrize("batch", ["full", 1, 7])
@pytest.mark.parametrize("lam", [0.05, 1 / 3, 7e-9])
def test_after_whole_epochs_the_coefficients_lie_in_the_box_exactly(s, batch, lam):
    S = np.ones(N) if s is None else s
    for epochs in (1, 2, 7, 30):
        m = method(lam=lam, batch=batch, epochs=epochs)
        trace, risk = m.run(X, Y, s), m.dual(X, Y, s).risk()
        alpha = (Y * trace.beta)[S > 0]
        assert (alpha >= 0).all()
        assert (alpha <= risk.costs).all()  # not by a rounding over
        assert m.solve(X, Y, s).certificate.domain == 0.0


def test_in_the_full_batch_the_coefficients_are_counts():
    trace = method(batch="full", epochs=30).run(X, Y)
    np.testing.assert_allclose(trace.beta, Y * trace.counts / (0.05 * 30 * N), rtol=1e-14)


def test_projection_keeps_f_in_its_ball():
    m = method(lam=1e-3, project=True, epochs=5)
    weights = m.run(X, Y, record=True).weights_by_step
    outside = method(lam=1e-3, epochs=5).run(X, Y, record=True).weights_by_step
    radius = 1 / np.sqrt(1e-3)
    assert (np.linalg.norm(weights, axis=1) <= radius * (1 + 1e-12)).all()
    assert (np.linalg.norm(outside, axis=1) > radius).any()


def test_integer_weights_are_repeated_rows_in_the_full_batch():
    m = method(batch="full", epochs=40)
    again = np.repeat(np.arange(N), WEIGHTS.astype(int))
    one, other = m.solve(X, Y, WEIGHTS), m.solve(X[again], Y[again])
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9)
    assert one.value == pytest.approx(other.value, rel=1e-9)
    assert one.counts[WEIGHTS == 0].tolist() == [0] * int((WEIGHTS == 0).sum())


@every_variant
@every_intercept
def test_another_unit_of_the_kernel_is_another_lam(variant, intercept):
    """K → t² K with lam → t² lam: the same f. The constant 1 is a feature of X here."""
    more, wide = VARIANTS[variant], np.c_[X, np.ones(N)] if intercept == "penalized" else X
    one = method(epochs=10, lam=0.05, **more).solve(wide, Y)
    other = method(epochs=10, lam=0.05 * 2.0**20, **more).solve(1024.0 * wide, Y)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert one.counts.tolist() == other.counts.tolist()
    np.testing.assert_allclose(one.weights, 1024.0 * other.weights, rtol=1e-9, atol=1e-12)
    assert one.certificate.dual_value == pytest.approx(other.certificate.dual_value, rel=1e-6)
    if intercept == "penalized":
        column = method(intercept="penalized", epochs=10, lam=0.05, **more).solve(X, Y)
        assert column.value == pytest.approx(one.value, rel=1e-9)
        assert column.intercept == pytest.approx(one.weights[-1], rel=1e-9)


def test_sparse_features_are_the_same_run():
    S = scipy.sparse.random(900, 150, density=0.05, format="csr", random_state=0)
    y = np.where(S @ RNG.normal(size=150) > 0, 1, 0)
    for variant in VARIANTS.values():
        m = kq.Pegasos(lam=0.01, epochs=3, **variant)
        one, other = m.solve(S, y), m.solve(S.toarray(), y)
        assert scipy.sparse.issparse(one.origin[0].page.data.X)
        assert one.value == pytest.approx(other.value, rel=1e-9)
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-7, atol=1e-9)


def test_no_matrix_of_n_rows_and_columns_is_formed(monkeypatch):
    monkeypatch.setattr(kq.Gram, "dense_matrix", lambda _: pytest.fail("n x n"))
    assert method(epochs=2).solve(X, Y).counts.sum() > 0


# --- seeds and sequences -------------------------------------------------------------------------


def test_a_seed_repeats_the_run_and_another_does_not():
    for more in ({}, {"batch": 3}, {"kernel": "rbf"}):
        one, same, other = (method(epochs=4, seed=k, **more).run(X, Y) for k in (5, 5, 6))
        assert one.indices.tolist() == same.indices.tolist()
        assert np.array_equal(one.beta, same.beta)
        assert one.indices.tolist() != other.indices.tolist()
        first, again = (method(epochs=4, seed=5, **more).solve(X, Y) for _ in range(2))
        assert first.value == again.value


def test_an_epoch_visits_every_row_once():
    for batch in (1, 7, "full"):
        drawn = method(batch=batch, epochs=3).run(X, Y).indices.reshape(3, N)
        assert np.array_equal(np.sort(drawn, axis=1), np.tile(np.arange(N), (3, 1)))


def test_a_recorded_sequence_gives_the_run_again():
    trace = method(epochs=3).run(X, Y, WEIGHTS)
    again = method(epochs=77, seed=9).run(X, Y, WEIGHTS, indices=trace.indices)
    assert np.array_equal(trace.beta, again.beta)
    assert np.array_equal(trace.acted, again.acted)
    batched = method(epochs=3, batch=8).run(X, Y)
    again = method().run(X, Y, indices=batched.indices.reshape(-1, 8))
    np.testing.assert_allclose(batched.beta, again.beta, rtol=1e-14)


def test_a_row_may_come_twice_in_a_batch():
    trace = method().run(X, Y, indices=[[0, 0], [1, 3], [1, 1]])
    assert trace.counts[0] == 2
    w = (Y[0] * X[0]) / method().lam  # two of two
    np.testing.assert_allclose(method().run(X, Y, indices=[[0, 0]]).weights, w, rtol=1e-12)


def test_both_forms_project_a_batch_with_a_row_twice():
    m, order = method(lam=1e-3, project=True), [[0, 0, 1], [2, 2, 2], [5, 4, 5]]
    one, other = (m.run(X, Y, indices=order, form=form) for form in ("weights", "counts"))
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)
    assert np.linalg.norm(one.weights) <= 1 / np.sqrt(1e-3) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([0.5, 1.0], "row numbers of shape"),
        ([], "row numbers of shape"),
        ([[[1]]], "row numbers of shape"),
        ([0, N], f"from 0 to {N - 1}; got {N}"),
        ([-1], "got -1"),
        ([int(np.flatnonzero(WEIGHTS == 0)[0])], "weight is 0"),
    ],
)
def test_a_sequence_that_names_no_rows_is_refused(indices, message):
    for m in (method(), kq.Perceptron()):
        with pytest.raises(DataError, match=message):
            m.run(X, Y, WEIGHTS, indices=indices)


# --- stopping ------------------------------------------------------------------------------------


def test_it_stops_as_soon_as_the_gap_is_small_enough():
    m = method(epochs=5000)
    loose, tight = m.solve(X, Y, tol=1e-2), m.solve(X, Y, tol=1e-3)
    for solution, tol in ((loose, 1e-2), (tight, 1e-3)):
        assert solution.status is kq.Status.CERTIFIED
        assert solution.certificate.relative_gap <= tol
        assert solution.history[-1, 0] < 5000 * N
        gaps = solution.history[:-1, 1] - solution.history[:-1, 2]
        scale = np.abs(solution.history[:-1, 1:]).max(axis=1)
        assert (gaps > tol * scale * (1 - 1e-9)).all()
    assert loose.history[-1, 0] < tight.history[-1, 0]


def test_when_the_epochs_run_out_it_says_so():
    solution = method(epochs=2).solve(X, Y, tol=1e-9)
    assert solution.status is kq.Status.LIMIT
    assert solution.history[:, 0].tolist() == [N, 2 * N]
    with pytest.raises(kq.NotCertified):
        solution.raise_if_not_certified()


def test_the_full_batch_is_looked_at_every_16_steps_and_at_the_end():
    assert method(batch="full", epochs=40).solve(X, Y).history[:, 0].tolist() == [16, 32, 40]
    assert method(batch=20, epochs=20).solve(X, Y).history[:, 0].tolist() == [16, 32, 40]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_gap_falls_towards_0(kernel):
    """The rate of the method is 1/t up to a logarithm: a hundredfold of steps, a tenth and less."""
    gaps = [
        method(kernel, lam=0.1, batch="full", epochs=e).solve(X, Y).certificate.relative_gap
        for e in (20, 2000)
    ]
    assert gaps[1] < 0.1 * gaps[0]
    assert gaps[1] < 2e-3


def test_without_a_search_the_counts_alone_close_the_gap(monkeypatch):
    """As where a kernel QP would take too long: D comes from the algorithm's own coefficients."""
    monkeypatch.setattr(own_point, "QUICK", 0.0)
    monkeypatch.setattr(own_point.Looks, "_tighten", lambda *_: None)
    best = optimum(method(lam=0.1))
    found = [method(lam=0.1, batch="full", epochs=e).solve(X, Y) for e in (50, 5000)]
    gaps = [s.certificate.relative_gap for s in found]
    assert all(s.certificate.dual_value <= best * (1 + 1e-9) for s in found)
    assert gaps[1] < 0.1 * gaps[0]
    assert gaps[1] < 1e-2


@every_variant
@pytest.mark.parametrize("lam", [1e-4, 0.05, 1.0])
def test_the_first_bound_is_no_worse_than_the_coefficients_in_their_box(variant, lam, monkeypatch):
    monkeypatch.setattr(own_point.Looks, "_tighten", lambda *_: None)
    for epochs in (1, 16):
        m = method(epochs=epochs, lam=lam, **VARIANTS[variant])
        risk, beta = m.dual(X, Y).risk(), m.run(X, Y).beta
        inside = np.clip(beta, np.minimum(0.0, Y * risk.costs), np.maximum(0.0, Y * risk.costs))
        reached = m.solve(X, Y).certificate.dual_value
        assert reached >= lam * risk.dual_value(inside) * (1 - 1e-12)


def test_where_a_search_is_dear_it_comes_at_the_end(monkeypatch):
    monkeypatch.setattr(own_point, "QUICK", 0.0)
    solution = method(epochs=5).solve(X, Y)
    assert solution.certificate.dual_value > solution.history[-1, 2]
    assert solution.certificate.dual_value == pytest.approx(optimum(method()), rel=1e-6)


# --- Ctrl-C --------------------------------------------------------------------------------------


def interrupted_at(monkeypatch, step):
    taken = PegasosRun.step

    def stepping(self, rows):
        if self.t == step:
            raise KeyboardInterrupt
        return taken(self, rows)

    monkeypatch.setattr(PegasosRun, "step", stepping)


def test_ctrl_c_keeps_the_best_point_that_was_looked_at(monkeypatch):
    whole = method(epochs=6).solve(X, Y)
    interrupted_at(monkeypatch, 5 * N + 3)
    solution = method(epochs=6).solve(X, Y)
    assert solution.status is kq.Status.LIMIT
    assert solution.history[:, 0].tolist() == [N, 2 * N, 3 * N, 4 * N, 5 * N]
    assert solution.value == pytest.approx(whole.history[:5, 1].min(), rel=1e-12)
    at = int(np.argmin(whole.history[:5, 1])) + 1
    monkeypatch.undo()
    assert solution.counts.tolist() == method(epochs=at).run(X, Y).counts.tolist()


def test_after_ctrl_c_nothing_long_is_searched(monkeypatch):
    monkeypatch.setattr(own_point, "QUICK", 0.0)
    monkeypatch.setattr("kernelqp.bound_search.band_duals", lambda *_: pytest.fail("searched"))
    interrupted_at(monkeypatch, 2 * N + 1)
    solution = method(epochs=6).solve(X, Y)
    assert solution.certificate.dual_value <= solution.value


def test_ctrl_c_before_the_first_look_goes_on(monkeypatch):
    interrupted_at(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        method(epochs=6).solve(X, Y)


def test_ctrl_c_in_the_search_for_a_bound_ends_the_run(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("kernelqp.bound_search.band_duals", interrupted)
    solution = method(epochs=6).solve(X, Y)
    assert solution.history.shape == (1, 3)
    assert solution.status is kq.Status.LIMIT
    best = optimum(method())
    assert solution.certificate.dual_value <= best <= solution.value


def test_progress_is_told_every_epoch(monkeypatch):
    told = []

    class Told(pegasos_solve.Progress):
        def say(self, note):
            told.append(note)

        def step(self):
            told.append("step")

    monkeypatch.setattr(pegasos_solve, "Progress", Told)
    method(epochs=3).solve(X, Y)
    assert told.count("step") == 3
    assert sum(note.startswith("relative gap at most") for note in told) >= 3


# --- what may come -------------------------------------------------------------------------------

ODD = {
    "two rows": ([[1.0, 0.0], [0.0, 1.0]], [1, -1]),
    "opposite labels on one point": ([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]], [1, -1, 1]),
    "only one point": ([[1.0, 2.0]] * 4, [1, -1, 1, -1]),
    "duplicates": (np.repeat(X, 3, axis=0), np.repeat(Y, 3)),
    "a row of zeros": (np.r_[np.zeros((1, 3)), X], np.r_[1, Y]),
    "only zeros": (np.zeros((4, 2)), [1, -1, 1, -1]),
    "a constant feature": (np.c_[X, np.ones(N)], Y),
    "huge features": (1e6 * X, Y),
    "far from the origin": (X + 1e6, Y),
    "integers": ((10 * X).astype(np.int8), Y),
    "float32": (X.astype(np.float32), Y),
}


@pytest.mark.parametrize("name", ODD)
@every_variant
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_odd_data_have_bounds_that_hold(name, variant, intercept):
    data = ODD[name]
    m = method(intercept=intercept, epochs=8, **VARIANTS[variant])
    c = m.solve(*data).certificate
    best = m.solve(*data, form="dual", solver="CLARABEL").certificate  # far out only bounds as well
    assert np.isfinite([c.primal_value, c.dual_value]).all()
    rounding = c.rounding + best.rounding
    assert c.dual_value <= c.primal_value + c.rounding
    assert c.dual_value <= best.primal_value * (1 + 1e-12) + rounding
    assert best.dual_value * (1 - 1e-12) <= c.primal_value + rounding


@pytest.mark.parametrize("lam", [1e-100, 1e-12, 1e12, 1e100])
@every_variant
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_any_lam_has_bounds_that_hold(lam, variant, kernel):
    m = method(kernel, lam=lam, epochs=4, **VARIANTS[variant])
    c = m.solve(X, Y).certificate
    assert np.isfinite(c.primal_value)
    assert 0.0 <= c.dual_value <= c.primal_value + c.rounding
    assert c.dual_value <= 1.0 + 1e-12  # the value of f = 0
    if lam > 1.0:
        assert c.primal_value == pytest.approx(1.0)


@pytest.mark.parametrize("lam", [5e-324, 1e-200, 1e308])
def test_a_lam_that_has_no_inverse_is_refused(lam):
    light = np.r_[np.ones(N - 1), 1e-200]
    with pytest.raises(ParameterError, match=r"lam = .* is too"):
        method(lam=lam).solve(X, Y, light)


def test_a_precomputed_kernel_and_predictions():
    K = KERNELS["rbf"](X)
    one = kq.Pegasos(lam=0.1, kernel="precomputed", epochs=5).solve(K, Y)
    other = kq.Pegasos(lam=0.1, kernel=KERNELS["rbf"], epochs=5).solve(X, Y)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert one.predict(K[:5]).tolist() == other.predict(X[:5]).tolist()


@pytest.mark.parametrize(
    ("load", "lam"), [(load_iris, 1e-2), (load_breast_cancer, 1e-2)], ids=["iris", "cancer"]
)
def test_real_data(load, lam):
    features, labels = load(return_X_y=True)
    labels = labels == 1
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    m = kq.Pegasos(lam=lam, epochs=30, intercept="penalized")
    solution, best = m.solve(features, labels), optimum(m, data=(features, labels))
    assert solution.certificate.dual_value <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= solution.value <= 1.1 * best
    assert kq.compare([solution, m.solve(features, labels, solver="CLARABEL")]) is not None


# --- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"lam": 0}, "lam must be a finite number > 0; got 0"),
        ({"lam": np.inf}, "lam must be a finite number > 0"),
        ({"epochs": 0}, "epochs must be a whole number >= 1; got 0"),
        ({"epochs": 2.5}, "epochs must be a whole number"),
        ({"batch": 0}, "batch must be a whole number >= 1; got 0"),
        ({"batch": "half"}, "batch must be one of 'full'; got 'half'"),
        ({"batch": True}, "batch must be a whole number"),
        ({"seed": -1}, "seed must be a whole number >= 0"),
        ({"project": 1}, "project must be a bool; got 1"),
        ({"average": "no"}, "average must be a bool; got 'no'"),
        ({"intercept": "free"}, r"intercept='free' is not .* 'penalized' .* SoftMarginSVM"),
        ({"intercept": "some"}, "intercept must be one of"),
    ],
)
def test_a_parameter_out_of_range_is_refused(bad, message):
    with pytest.raises(ParameterError, match=message):
        kq.Pegasos(**bad)


def test_what_solve_and_run_refuse():
    with pytest.raises(ParameterError, match="takes no options; got 'max_iter'"):
        method().solve(X, Y, max_iter=3)
    with pytest.raises(ParameterError, match="tol must be a finite number > 0"):
        method().solve(X, Y, tol=0)
    with pytest.raises(ParameterError, match="form 'dual' is no primal"):
        method().primal(X, Y, form="dual")
    with pytest.raises(ParameterError, match="form must be 'auto', 'weights' or 'counts'"):
        method().run(X, Y, form="dual")
    with pytest.raises(ParameterError, match="needs explicit features"):
        method("rbf").run(X, Y, form="weights")
    page = method().dual(X, Y)
    page.parameters["lam"].value = 0.0
    with pytest.raises(ParameterError, match="lam must be > 0; got 0"):
        page.solve()


def test_what_a_page_does_not_show_says_so():
    solution = method().solve(X, Y, form="dual")
    for name in ("counts", "history", "mistakes"):
        with pytest.raises(AttributeError, match=f"no {name}"):
            getattr(solution, name)
