"""Objectives of scikit-learn's models, written out with NumPy and read off the public attributes.

Nothing of the package is used here: a problem is `half |f|^2 + sum costs loss` in the library's own
unit, its value comes from the model's own predictions, and its optimum from CLARABEL or from a
linear system.
"""

import inspect
import warnings
from dataclasses import dataclass
from itertools import combinations

import cvxpy as cp
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.utils.class_weight import compute_class_weight

# since scikit-learn 1.7 LinearSVC and LogisticRegression balance by sample weights, not by counts
WEIGHTED_BALANCE = "sample_weight" in inspect.signature(compute_class_weight).parameters

LOSSES = {
    "hinge": lambda y, p: np.maximum(0, 1 - y * p),
    "squared_hinge": lambda y, p: np.maximum(0, 1 - y * p) ** 2,
    "log_loss": lambda y, p: np.logaddexp(0, -y * p),
    "square": lambda y, p: (y - p) ** 2,
    "tube": lambda y, p, eps: np.maximum(0, np.abs(y - p) - eps),
    "squared_tube": lambda y, p, eps: np.maximum(0, np.abs(y - p) - eps) ** 2,
}
EXPRESSIONS = {
    "hinge": lambda y, p: cp.pos(1 - cp.multiply(y, p)),
    "squared_hinge": lambda y, p: cp.square(cp.pos(1 - cp.multiply(y, p))),
    "log_loss": lambda y, p: cp.logistic(-cp.multiply(y, p)),
    "square": lambda y, p: cp.square(y - p),
    "tube": lambda y, p, eps: cp.pos(cp.abs(y - p) - eps),
    "squared_tube": lambda y, p, eps: cp.square(cp.pos(cp.abs(y - p) - eps)),
}


@dataclass
class Hand:
    """half |f|^2 + half (b/t)^2 + sum costs loss(targets, f + b), and where the model stands.

    `features` F has K = F F'; `intercept` is "free", "none" or t. `used` are the rows.
    """

    half: float
    features: np.ndarray
    targets: np.ndarray
    costs: np.ndarray
    loss: str
    intercept: object
    norm2: float
    predictions: np.ndarray
    b: float = 0.0
    eps: tuple = ()
    used: np.ndarray = None

    def at(self, norm2, p, b=0.0):
        extra = 0.0 if isinstance(self.intercept, str) else (b / self.intercept) ** 2
        lost = LOSSES[self.loss](self.targets, p, *self.eps)
        return float(self.half * (norm2 + extra) + self.costs @ lost)

    @property
    def value(self):
        """The objective at the model."""
        return self.at(self.norm2, self.predictions, self.b)

    def solve(self):
        """Return (value, w, b) of the optimum."""
        if self.loss == "square":
            return self._normal_equations()
        size = max(float(np.sqrt((self.features**2).sum(axis=1).mean())), 1e-300)
        F, unit = self.features / size, 1.0 / (2 * self.half)
        costs = self.costs * unit * size**2  # 1/2 |u|^2 + costs loss, w = u / size
        u, b = cp.Variable(F.shape[1]), cp.Variable()
        top = max(1.0, float(costs.mean()))  # keeps the solver's numbers near 1
        objective, p = cp.sum_squares(u) / (2 * top), F @ u
        constraints = []
        if self.intercept == "free":
            p = p + b
        elif self.intercept != "none":
            p = p + b
            objective = objective + cp.square(b * (size / self.intercept)) / (2 * top)
        else:
            constraints = [b == 0]
        objective = objective + (costs / top) @ EXPRESSIONS[self.loss](self.targets, p, *self.eps)
        problem = cp.Problem(cp.Minimize(objective), constraints)
        keys = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
        with warnings.catch_warnings():  # it says so where it misses these, and is near enough
            warnings.simplefilter("ignore", UserWarning)
            problem.solve(solver="CLARABEL", **dict.fromkeys(keys, 1e-11))
        w, offset = u.value / size, float(b.value)
        offset = 0.0 if self.intercept == "none" else offset
        return self.at(float(w @ w), self.features @ w + offset, offset), w, offset

    def optimum(self):
        return self.solve()[0]

    def _normal_equations(self):
        kept = self.costs > 0
        F, y, s = self.features[kept], self.targets[kept], self.costs[kept]
        design = np.column_stack([F, np.ones(len(F))]) if self.intercept == "free" else F
        penalty = np.full(design.shape[1], np.sqrt(self.half))
        penalty[F.shape[1] :] = 0.0
        rows = np.vstack([np.sqrt(s)[:, None] * design, np.diag(penalty)])
        right = np.r_[np.sqrt(s) * y, np.zeros(design.shape[1])]
        x = np.linalg.lstsq(rows, right, rcond=None)[0]
        w, b = x[: F.shape[1]], float(x[F.shape[1] :].sum())
        return self.at(float(w @ w), self.features @ w + b), w, b


def factor(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def kernel_matrix(model, X):
    if callable(model.kernel):
        return np.asarray(model.kernel(X, X), dtype=float)
    gamma = model.gamma
    if gamma is None or gamma == "auto":
        gamma = 1.0 / X.shape[1]
    elif gamma == "scale":
        gamma = 1.0 / (X.shape[1] * X.var())
    return {
        "linear": lambda: X @ X.T,
        "rbf": lambda: np.exp(-gamma * cdist(X, X) ** 2),
        "laplacian": lambda: np.exp(-gamma * cdist(X, X, "cityblock")),
        "poly": lambda: (gamma * (X @ X.T) + (model.coef0 or 0.0)) ** model.degree,
        "precomputed": lambda: X,
    }[model.kernel]()


def factors(model, y, s, weighted):
    """The class weight of every row."""
    given = model.class_weight
    if given is None:
        return np.ones(len(y))
    classes = list(dict.fromkeys(y.tolist()))
    if given == "balanced":
        count = s if weighted else np.ones(len(y))
        total = count.sum() / len(classes)
        given = {c: total / count[y == c].sum() for c in classes}
    return np.array([given.get(label, 1.0) for label in y.tolist()])


def signs(y, positive):
    return np.where(y == positive, 1.0, -1.0)


def by_hand(model, X, y, sample_weight=None):
    """Return every problem of a fitted model."""
    y = np.asarray(y)
    if isinstance(model, Pipeline):
        seen = model[:-1].transform(X) if len(model) > 1 else X
        return by_hand(model[-1], seen, y, sample_weight)
    X = np.asarray(X, dtype=float)
    s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    reader = {SVC: _svc, SVR: _svr, KernelRidge: _kernel_ridge, Ridge: _ridge, LinearSVR: _svr_lin}
    return reader.get(type(model), _linear)(model, X, y, s)


def kernel_features(model, X, K):
    """F with K = F F': X itself where that is one, since eigenvectors add rounding as features."""
    return X if isinstance(model.kernel, str) and model.kernel == "linear" else factor(K)


def _libsvm_predictions(model, X, K, rows):
    """LIBSVM's f + b on the training rows.

    With a precomputed or callable kernel and rows of weight 0, scikit-learn 1.9 itself reads the
    wrong columns of K in decision_function and predict: support_ counts the rows of positive
    weight only.
    """
    if callable(model.kernel) or model.kernel == "precomputed":
        return K[:, rows] @ model.dual_coef_[0] + model.intercept_[0]
    return model.decision_function(X) if isinstance(model, SVC) else model.predict(X)


def _svc(model, X, y, s):
    K, costs = kernel_matrix(model, X), model.C * s * factors(model, y, s, weighted=False)
    rows = np.flatnonzero(s > 0)[model.support_]  # LIBSVM never sees rows of weight 0
    classes = sorted(set(y.tolist()))
    if len(classes) == 2:
        decision, F = _libsvm_predictions(model, X, K, rows), kernel_features(model, X, K)
        norm2 = float(model.dual_coef_[0] @ (decision[rows] - model.intercept_[0]))
        return [Hand(0.5, F, signs(y, classes[1]), costs, "hinge", "free", norm2, decision)]
    decision = model.decision_function(X)  # of pairs: decision_function_shape='ovo'
    ends, problems = np.r_[0, np.cumsum(model.n_support_)], []
    for k, (i, j) in enumerate(combinations(range(len(classes)), 2)):
        used = np.flatnonzero((y == classes[i]) | (y == classes[j]))
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        held = np.r_[rows[of_i], rows[of_j]]
        a = np.r_[model.dual_coef_[j - 1, of_i], model.dual_coef_[i, of_j]]
        norm2 = float(a @ K[np.ix_(held, held)] @ a)
        problems.append(
            Hand(
                0.5,
                kernel_features(model, X, K)[used],
                signs(y, classes[i])[used],
                costs[used],
                "hinge",
                "free",
                norm2,
                decision[used, k],
                used=used,
            )
        )
    return problems


def _svr(model, X, y, s):
    rows, K = np.flatnonzero(s > 0)[model.support_], kernel_matrix(model, X)
    p = _libsvm_predictions(model, X, K, rows)
    norm2 = float(model.dual_coef_[0] @ (p[rows] - model.intercept_[0]))
    F = kernel_features(model, X, K)
    return [Hand(0.5, F, y, model.C * s, "tube", "free", norm2, p, eps=(model.epsilon,))]


def _kernel_ridge(model, X, y, s):
    p, K = model.predict(X), kernel_matrix(model, X)
    norm2 = float(np.ravel(model.dual_coef_) @ np.ravel(p))
    F = kernel_features(model, X, K)
    return [Hand(model.alpha, F, np.ravel(y), s, "square", "none", norm2, np.ravel(p))]


def _ridge(model, X, y, s):
    w, kind = np.ravel(model.coef_), "free" if model.fit_intercept else "none"
    p = np.ravel(model.predict(X))
    return [Hand(model.alpha, X, np.ravel(y), s, "square", kind, float(w @ w), p)]


def _svr_lin(model, X, y, s):
    loss = "tube" if model.loss == "epsilon_insensitive" else "squared_tube"
    kind = model.intercept_scaling if model.fit_intercept else "none"
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    p, eps = model.predict(X), (model.epsilon,)
    return [Hand(0.5, X, y, model.C * s, loss, kind, float(w @ w), p, b, eps)]


def _linear(model, X, y, s):
    classes = sorted(set(y.tolist()))
    decision, W = model.decision_function(X), np.atleast_2d(model.coef_)
    b = np.broadcast_to(np.ravel(model.intercept_), (len(W),))
    sgd = isinstance(model, SGDClassifier)
    liblinear = isinstance(model, LinearSVC) or getattr(model, "solver", "") == "liblinear"
    half = 0.5 * model.alpha if sgd else 0.5
    price = s / len(y) if sgd else model.C * s
    weights = factors(model, y, s, weighted=WEIGHTED_BALANCE and not sgd)
    loss = "log_loss" if isinstance(model, LogisticRegression) else model.loss
    kind = model.intercept_scaling if liblinear else "free"
    kind = kind if model.fit_intercept else "none"
    if len(classes) == 2:
        costs, t = price * weights, signs(y, classes[1])
        return [Hand(half, X, t, costs, loss, kind, float(W[0] @ W[0]), decision, float(b[0]))]
    problems = []
    for k, label in enumerate(classes):
        t = signs(y, label)
        costs = price * np.where(t > 0, weights, 1.0)  # the rest has weight 1
        norm2 = float(W[k] @ W[k])
        problems.append(Hand(half, X, t, costs, loss, kind, norm2, decision[:, k], float(b[k])))
    return problems
