"""The pictures of `results/curves.json`, drawn from what is stored: nothing is measured here."""

import json

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.record import RESULTS

# colours of Okabe & Ito, which the colour-blind tell apart; every curve has a marker of its own too
STYLES = {
    "ours": ("#000000", "*", "-"),
    "scikit-learn": ("#0072B2", "o", "-"),
    "scikit-learn 1e-8": ("#0072B2", "o", "--"),
    "intelex": ("#56B4E9", "s", "-"),
    "intelex 1e-8": ("#56B4E9", "s", "--"),
    "cvxpy OSQP": ("#D55E00", "^", "-"),
    "cvxpy CLARABEL": ("#009E73", "D", "-"),
    "cvxpy PIQP": ("#CC79A7", "v", "-"),
    "dense PIQP": ("#E69F00", "P", "-"),
}
LABELS = {
    "ours": "kernelqp, exact",
    "scikit-learn": "scikit-learn",
    "scikit-learn 1e-8": "scikit-learn, tol 1e-8",
    "intelex": "scikit-learn-intelex",
    "intelex 1e-8": "scikit-learn-intelex, tol 1e-8",
    "dense PIQP": "PIQP, dense",
}
FONTS = {"font.size": 10, "axes.titlesize": 11, "axes.labelsize": 11, "legend.fontsize": 9}
EXACT = 1e-9  # the gap that ours has to reach


def style(name):
    colour, marker, line = STYLES[name]
    size = 13 if name == "ours" else 6
    return {
        "color": colour,
        "marker": marker,
        "linestyle": line,
        "markersize": size,
        "linewidth": 2.2 if name == "ours" else 1.4,
        "markerfacecolor": "white" if line == "--" else colour,
        "label": LABELS.get(name, name),
        "zorder": 3 if name == "ours" else 2,
    }


def seconds_against_n(rows):
    """Return the picture of seconds over n, both logarithmic."""
    rows = [row for row in rows if row["picture"] == "seconds"]
    figure = Figure(figsize=(8.6, 5.0), layout="constrained")
    axes = figure.add_subplot()
    for name in STYLES:
        points = [(row["n"], row["seconds"].get(name)) for row in rows]
        points = [(n, seconds) for n, seconds in points if seconds is not None]
        if points:
            axes.plot(*zip(*points, strict=True), **style(name) | {"label": labelled(name, rows)})
    axes.set(xscale="log", yscale="log", xlabel="rows n", ylabel="seconds")
    sizes = [row["n"] for row in rows]
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_title(f"{rows[0]['work']}: from X and y to the answer")
    finish(axes)
    legend = figure.legend(
        loc="outside right upper",
        frameon=False,
        title="who, and the largest certified gap",
        alignment="left",
    )
    legend.get_title().set_fontsize(FONTS["legend.fontsize"])
    return figure


def labelled(name, rows):
    """Return the label of a curve with the largest gap of its answers."""
    gaps = [row["relative_gap"].get(name) for row in rows]
    known = [gap for gap in gaps if gap is not None]
    label = LABELS.get(name, name)
    return f"{label}: {max(known):.0e}" if known else f"{label}: not judged"


def gap_against_seconds(rows):
    """Return the picture of certified gaps over seconds, a panel for each problem."""
    rows = [row for row in rows if row["picture"] == "gap"]
    works = list(dict.fromkeys((row["work"], row["n"]) for row in rows))
    figure = Figure(figsize=(11.0, 5.4), layout="constrained")
    panels = figure.subplots(1, len(works), sharey=True, squeeze=False)[0]
    for axes, (work, n) in zip(panels, works, strict=True):
        for name in STYLES:
            points = [
                (row["seconds"], row["relative_gap"])
                for row in rows
                if (row["work"], row["n"], row["curve"]) == (work, n, name)
                and row["relative_gap"] is not None
            ]
            if points:
                axes.plot(*zip(*points, strict=True), **style(name))
        axes.axhline(EXACT, color="0.5", linewidth=1, linestyle=":", zorder=1)
        axes.set(xscale="log", yscale="log", xlabel="seconds", title=f"{work}, n = {n:,}")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        finish(axes)
        axes.annotate(
            "asked of kernelqp",
            (0.0, EXACT),
            xycoords=("axes fraction", "data"),
            xytext=(4, 3),
            textcoords="offset points",
            ha="left",
            color="0.4",
            fontsize=8,
        )
    panels[0].set_ylabel("certified relative gap")
    panels[0].set_yticks([10.0**k for k in range(-14, 1, 2)])
    labels = panels[0].get_legend_handles_labels()
    figure.legend(*labels, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle("A point is one tolerance that the solver was given", fontsize=10, color="0.3")
    return figure


def finish(axes):
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def main():
    """Draw both pictures."""
    rows = json.loads((RESULTS / "curves.json").read_text())["rows"]
    with mpl.rc_context(FONTS):
        for draw in (seconds_against_n, gap_against_seconds):
            path = RESULTS / f"{draw.__name__}.png"
            draw(rows).savefig(path, dpi=110)
            print(f"drew benchmarks/results/{path.name}")


if __name__ == "__main__":
    main()
