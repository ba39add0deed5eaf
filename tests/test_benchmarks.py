"""What the benchmarks of kernel QPs say of their contenders; nothing timed is a test."""

import json
from dataclasses import replace

import numpy as np
import pytest

import kernelqp as kq
from benchmarks import contenders, kernel_qp
from benchmarks.datasets import breast_cancer, diabetes
from benchmarks.race import race
from benchmarks.works import TOL, Work, first, machine, quantile, regression

SMALL = first(breast_cancer(), 40)
WORK = machine(SMALL, 1.0, "small")
WORKS = [
    WORK,
    regression(first(diabetes(), 40), 10.0, "regression"),
    quantile(first(diabetes(), 40), 10.0, 0.3, "quantile"),
]


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_everybody_who_is_here_solves_every_work(work):
    here = [c for c in contenders.everybody() if c.missing is None]
    row = race(work, here, 1)
    assert json.loads(json.dumps(row)) == row
    assert row["relative_gap"]["ours"] <= TOL
    for c in here:
        if work.model is None and c.models_only:
            assert row["left_out"][c.name] == "has no such model"
            assert row["seconds"][c.name] is None
        else:
            assert row["seconds"][c.name] > 0
            assert row["relative_gap"][c.name] < 1e-2
            assert c.name not in row["left_out"]


def test_who_fails_is_too_large_or_not_installed_is_in_the_row_with_the_reason():
    def fail(work):
        raise ValueError("no such luck")

    ours = contenders.ours()
    row = race(
        WORK,
        [
            replace(ours, name="fails", solve=fail),
            replace(ours, name="large", largest=30),
            replace(ours, name="absent", missing="nothing is not installed"),
            replace(ours, name="unjudged", gap=lambda work, answer: answer.nothing),
            ours,
        ],
        2,
    )
    assert row["left_out"]["fails"] == "failed: ValueError: no such luck"
    assert row["left_out"]["large"] == "n = 40 is above its bound of 30"
    assert row["left_out"]["absent"] == "nothing is not installed"
    assert row["left_out"]["unjudged"].startswith("not judged: AttributeError")
    for name in ("fails", "large", "absent"):
        assert row["seconds"][name] is row["relative_gap"][name] is None
    assert row["relative_gap"]["unjudged"] is None
    assert row["runs"] == {"unjudged": 2, "ours": 2}


def test_an_answer_is_judged_as_it_is_and_not_after_an_elbow_solve():
    solution = kq.SoftMarginSVM(C=1.0, kernel=kq.RBF(gamma=SMALL[2])).solve(*SMALL[:2])
    exact = solution.beta
    inside = np.flatnonzero((np.abs(exact) > 0.1) & (np.abs(exact) < 0.9))
    rough = exact.copy()
    rough[inside[:2]] += [1e-3, -1e-3]
    assert WORK.gap(exact) < TOL < 1e-8 < WORK.gap(rough)


def test_the_best_of_cvxpy_is_the_fastest_with_an_answer():
    row = {
        "ratio": {"cvxpy A": 1.0, "cvxpy B": 2.0, "cvxpy C": 3.0, "dense PIQP": 9.0},
        "seconds": {"cvxpy A": 3.0, "cvxpy B": 2.0, "cvxpy C": 1.0, "dense PIQP": 0.1},
        "relative_gap": {"cvxpy A": 1e-9, "cvxpy B": 1e-4, "cvxpy C": 0.5, "dense PIQP": 0.0},
    }
    assert kernel_qp.best_of_cvxpy(row) == "cvxpy B"
    row["relative_gap"] = dict.fromkeys(row["relative_gap"])
    assert kernel_qp.best_of_cvxpy(row) is None


@pytest.mark.parametrize(
    ("reached", "gap", "met"), [(0.9, 1e-12, True), (1.1, 1e-12, False), (0.9, 1e-8, False)]
)
def test_a_target_is_met_by_ratio_and_gap_together(reached, gap, met):
    row = {"ratio": {"scikit-learn": reached}, "relative_gap": {"ours": gap}}
    assert kernel_qp.target_of(kernel_qp.Entry(WORK, 1.0), row)["met"] is met


def test_a_table_without_an_answer_of_ours_is_still_told():
    row = race(WORK, [replace(contenders.ours(), missing="it is away")], 1)
    row |= kernel_qp.target_of(kernel_qp.Entry(WORK, 1.0), row)
    table = kernel_qp.targets([row])
    assert [line["met"] for line in table] == [False]
    assert "small, n = 40: not measured; 0 of 1 targets met" in kernel_qp.claim([row], table)


def test_works_in_a_row_are_judged_by_the_worst():
    gaps = {"a": 1e-12, "b": 1e-3}
    works = [Work(name, WORK.method, WORK.X, WORK.y, WORK.gamma) for name in gaps]
    contender = replace(contenders.ours(), gap=lambda work, answer: gaps[work.name])
    row = race(works[0], [contenders.in_a_row(contender, works)], 1)
    assert row["relative_gap"]["ours"] == 1e-3


def test_the_pictures_are_drawn_from_stored_rows():
    pytest.importorskip("matplotlib")
    from benchmarks import pictures

    sizes = [
        {
            "picture": "seconds",
            "work": "w",
            "n": n,
            "seconds": {"ours": n * 1e-4, "cvxpy OSQP": None if n > 100 else 1.0},
            "relative_gap": {"ours": 1e-12, "cvxpy OSQP": None if n > 100 else 1e-5},
        }
        for n in (100, 200)
    ]
    gaps = [
        {"picture": "gap", "work": "w", "n": 100, "curve": "ours"}
        | {"seconds": 0.1, "relative_gap": gap}
        for gap in (1e-12, None)
    ]
    axes = pictures.seconds_against_n(sizes + gaps).axes[0]
    labels = [line.get_label() for line in axes.get_lines()]
    assert labels == ["kernelqp, exact: 1e-12", "cvxpy OSQP: 1e-05"]
    line = pictures.gap_against_seconds(sizes + gaps).axes[0].get_lines()[0]
    assert list(line.get_ydata()) == [1e-12]
