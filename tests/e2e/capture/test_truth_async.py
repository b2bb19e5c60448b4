# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--async never shows a wrong chain: every sample of every shape against what the program knows.

targets/task_shapes.py has tasks that await one another in every way; the names of their functions say
who awaits whom. A stack has the true chain, or the event loop's frames, and then it is counted.
"""

import math

import pytest

from interp.cache import Failed
from present import FOUND, covered, need
from pypi import PyPI, path_of
from task_shapes import ShapesRun

MINORS = range(8, 16)
# In the gate: a few shapes in one recording; the time is that of the program on a CPU.
SHORT = ("gather", "recursion", "wait_for", "group", "short", "nobody", "threads")
SHORT_SECONDS, SHORT_RATE = 0.06, 499
# In check-truth: at full speed, one interpreter of each minor version.
RATE, SECONDS = 499, 3
MIN_SAMPLES, MIN_WHOLE = 1000, 0.98
# Until it is cancelled, a task works on for a turn of the loop, of six; the one that awaited it is in the queue.
WOKEN = {"timed_out": MIN_WHOLE * 5 / 6}        # with 3.8 to 3.11, whose wait_for() has a future of its own
# A task that has ended when its chain is read, after 0.2 ms, has one only if it is known from an earlier sample.
# "short": of 60 tasks in a gather(), which takes 6 ms, all but the first that is met, if each gather() is made of
# other objects. "raising": if none is known, those that live on for 0.2 of their 0.8 ms. Tasks of Python's classes
# are known each by itself, and read in 0.4 ms.
SHORT_LIVED = {"short": 1 - 1 / (RATE * 0.006), "raising": 1 - 0.2 / 0.8}
SHORT_LIVED_PURE = {"short": 0, "raising": 1 - 0.4 / 0.8}


def has_tasks(interpreter):
    return interpreter.minor[1] in MINORS


def expect_truth(run):
    """No wrong chain; all stacks that have the loop, or a function without a name, are counted."""
    in_loop = unnamed = 0
    for shape in run.truth["shapes"]:
        judged = run.judged(shape)
        assert not judged.wrong, (shape, judged.wrong)
        in_loop += judged.loop
        unnamed += judged.unnamed
    assert in_loop <= sum(run.counted.values()), (in_loop, run.told)
    assert unnamed <= run.unresolved, (unnamed, run.unresolved)
    assert run.told["stacks"] > 0, run.told


def expect_no_wrong_chain(interpreter, how, out):
    if not has_tasks(interpreter):
        pytest.skip("--async begins with 3.8")
    run = ShapesRun(interpreter, out, how, *SHORT, seconds=SHORT_SECONDS, rate=SHORT_RATE)
    expect_truth(run)
    assert sum(run.judged(shape).total for shape in run.truth["shapes"]) > 0


def test_no_wrong_chain(interpreter, out):
    expect_no_wrong_chain(interpreter, "c", out)


def test_no_wrong_chain_without_c(interpreter, out):
    if interpreter.minor >= (3, 14):
        pytest.skip("from 3.14 on, tasks without _asyncio are unknown")
    expect_no_wrong_chain(interpreter, "pure", out)


# ---- statistics ----

def of_each_minor():
    """A release build of each minor version that is here; CPython 3.8 has no Debian."""
    found = {}
    for i in covered("all"):
        if has_tasks(i) and not (i.debug or i.trace_refs or i.free_threaded or i.libc == "musl"):
            found.setdefault(i.minor, i)
    return [i.name for i in found.values()]


def least(run, shape, how, total):
    """The share that must be whole: MIN_WHOLE, or what follows from how the shape is made, less its error."""
    found = SHORT_LIVED_PURE if how == "pure" else SHORT_LIVED
    if run.truth["version"] < [3, 12]:
        found = {**found, **WOKEN}
    if shape not in found or run.truth["version"] >= [3, 14]:
        return MIN_WHOLE
    share = found[shape]
    return share - 3 * math.sqrt(share * (1 - share) / total)


def expect_statistics(run, how):
    expect_truth(run)
    few = {}
    for shape in run.truth["shapes"]:
        judged = run.judged(shape)
        print(f"{shape:16} {judged.total:6} {judged.whole / max(judged.total, 1):.3f}")
        if judged.total < MIN_SAMPLES or judged.whole < judged.total * least(run, shape, how, judged.total):
            few[shape] = judged
    assert not few, (few, run.told)


@pytest.mark.truth
@pytest.mark.parametrize("how", ("c", "pure", "eager"))
@pytest.mark.parametrize("name", of_each_minor() if FOUND else [])
def test_every_shape(name, how, out):
    python = need(name)
    if how == "pure" and python.minor >= (3, 14):
        pytest.skip("from 3.14 on, tasks without _asyncio are unknown")
    if how == "eager" and python.minor < (3, 12):
        pytest.skip("eager tasks begin with 3.12")
    expect_statistics(ShapesRun(python, out, how, "all", seconds=SECONDS, rate=RATE), how)


PACKAGES = ("pyenv-3.8.18", ("anyio==4.5.2", "uvloop==0.21.0")), ("pyenv-3.8.18", ("anyio==3.7.1",)), \
    ("pyenv-3.10.13", ("anyio==4.0.0", "uvloop==0.19.0")), ("pyenv-3.12.1", ("anyio==4.9.0", "uvloop==0.21.0")), \
    ("pyenv-3.13.0", ("anyio==4.16.0", "uvloop==0.22.1"))


@pytest.mark.truth
@pytest.mark.parametrize("name, packages", PACKAGES, ids=lambda v: v if isinstance(v, str) else "-".join(v))
def test_libraries(name, packages, out):
    """uvloop's loop, and anyio's task groups."""
    python = need(name)
    try:
        path = path_of(PyPI("-".join(packages), python, packages))
    except Failed as why:
        pytest.skip(f"not to be had for {name}: {why}")
    how = "uvloop" if len(packages) > 1 else "c"
    run = ShapesRun(python, out, how, "all", seconds=SECONDS, rate=RATE, path=path)
    assert "anyio" in run.truth["shapes"]
    expect_statistics(run, how)
