"""A race: the same work by all contenders in turn, several times, seconds and certified gaps."""

import gc
import time
import warnings
from statistics import median

SLOW = 20.0  # seconds: who takes longer runs once, and the row says so
SHORT, AGAIN = 0.05, 5  # a run of fewer seconds is repeated: its median counts as the run


def race(work, contenders, runs):
    """Return one row: seconds, gaps, ratios of ours, and why somebody is not in it, by name.

    Every run goes through all contenders before the next begins, so that what else the machine
    does meets all of them; a ratio is the median of the ratios of one run.
    """
    left_out = {c.name: c.left_out(work) for c in contenders}
    seconds, answers = {c.name: [] for c in contenders}, {}
    for c in contenders:
        if left_out[c.name] is None:
            c.prepare(work)
    for k in range(runs):
        for c in contenders:
            if left_out[c.name] is not None or (k and seconds[c.name][0] > SLOW):
                continue
            answers.pop(c.name, None)
            gc.collect()
            took, answers[c.name], left_out[c.name] = run(c, work)
            if left_out[c.name] is None:
                seconds[c.name].append(took)
    gaps = {}
    for c in contenders:
        if left_out[c.name] is None:
            gaps[c.name], left_out[c.name] = judged(c, work, answers[c.name])
    ran = {name: times for name, times in seconds.items() if times}
    return {
        "work": work.name,
        "n": work.n,
        "C": work.method.C,
        "seconds": {c.name: median(ran[c.name]) if c.name in ran else None for c in contenders},
        "relative_gap": {c.name: gaps.get(c.name) for c in contenders},
        "ratio": {name: ratio(seconds["ours"], ran[name]) for name in ran if name != "ours"},
        "left_out": {name: reason for name, reason in left_out.items() if reason is not None},
        "runs": {name: len(times) for name, times in ran.items()},
    }


def ratio(ours, theirs):
    """Return the median of ours over theirs in one run; None where ours has no seconds."""
    pairs = list(zip(ours, theirs, strict=False))  # the slow have one run
    return median(a / b for a, b in pairs) if pairs else None


def run(contender, work):
    """Return the seconds, the answer and None, or what went wrong.

    A single run of milliseconds measures what the one before it has left in the caches.
    """
    took, answer, wrong = timed(contender, work)
    if wrong is not None or took >= SHORT:
        return took, answer, wrong
    again = [timed(contender, work) for _ in range(AGAIN)]
    failed = next((one for one in again if one[2] is not None), None)
    return failed or (median(one[0] for one in again), answer, None)


def timed(contender, work):
    """Return the seconds, the answer and None; or None, None and what went wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the gap says how inaccurate
        started = time.perf_counter()
        try:
            answer = contender.solve(work)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of a compiled solver derives from BaseException
            return None, None, f"failed: {type(error).__name__}: {error}"
        return time.perf_counter() - started, answer, None


def judged(contender, work, answer):
    """Return the certified relative gap and None; or None and why there is none."""
    try:
        return float(contender.gap(work, answer)), None
    except Exception as error:  # the row says so, and the others are judged
        return None, f"not judged: {type(error).__name__}: {error}"


def warm_up(work, contenders):
    """Let everybody run once on something small: the first call in a process loads libraries."""
    race(work, contenders, 1)
