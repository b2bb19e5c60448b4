# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--async and trio: the tasks in whose nurseries a task is, in place of trio's loop."""
import pytest

from task_stacks import Run
from trio_packages import OLDEST, packages

LOOP = {"unrolled_run", "run"}


def record(interpreter, out, scratch, how, *options, release=None, **more):
    path = packages(interpreter, scratch, release)["PYTHONPATH"]
    return Run(interpreter, out, how, "--async", *options, path=path, rate=299,
               program="trio_tasks.py", **more)


def chains(run, function="burn"):
    """The stacks that have no loop; of a function of tasks. The others were counted."""
    found = run.having(function)
    with_loop = {s: n for s, n in found.items() if set(s) & LOOP}
    told = run.session["async"]
    assert sum(with_loop.values()) <= told["async_late"] + told["async_gone"] + told["async_unfound"], (with_loop, told)
    assert told["async_unfound"] <= run.few_unfound, told
    return {s: n for s, n in found.items() if s not in with_loop}


def of_program(stack):
    return tuple(f for f in stack if f in ("main", "handle", "fetch", "burn", "others", "other"))


def expect_chains(run):
    found = chains(run)
    ours = {s: n for s, n in found.items() if "fetch" in s}
    assert {of_program(s) for s in ours} == {("main", "handle", "fetch", "burn")}, found
    assert all(s[0] in ("Runner.init", "init") for s in ours), ours
    assert sum(ours.values()) > run.count("fetch") / 2, run.session["async"]
    assert not any(run.session["async"][key] for key in
                   ("async_torn", "async_foreign", "async_unreadable", "async_other",
                    "async_cycle", "async_cut", "async_no_end")), run.session["async"]


@pytest.mark.interpreters("few")
def test_a_task_below_a_task(interpreter, out, scratch):
    expect_chains(record(interpreter, out, scratch, "nested"))


@pytest.mark.interpreters("few")
def test_beside_asyncio(interpreter, out, scratch):
    """asyncio is there first: trio is found after it."""
    run = record(interpreter, out, scratch, "both")
    expect_chains(run)
    assert ("others", "other", "burn") in {of_program(s) for s in chains(run)}


@pytest.mark.interpreters("few")
def test_trio_that_is_imported_later_is_found(interpreter, out, scratch):
    run = record(interpreter, out, scratch, "late", seconds=2.5)
    assert {("main", "handle", "fetch", "burn")} <= {
        of_program(s) for s in run.having("fetch") if not set(s) & LOOP}, run.stacks.most_common(8)


@pytest.mark.interpreters("one")
def test_the_oldest_release(interpreter, out, scratch):
    expect_chains(record(interpreter, out, scratch, "nested", release=OLDEST))
