# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--async: each sample in a coroutine of which no task is found is counted, async_unfound."""
import pytest

from task_stacks import LOOP, Run

RATE = 499
# The functions of targets/unfound_tasks.py that are run by hand, and the outermost one that counts.
BY_HAND = {"driven": "driven", "generator": "steps", "decorated": "decorated"}


def record(interpreter, out, how, *options, rate=RATE, seconds=0.5, **more):
    return Run(interpreter, out, how, "--async", *options, rate=rate, seconds=seconds, program="unfound_tasks.py",
               **more)


def counted(run):
    """The stacks that have the loop, by cause."""
    return {k: n for k, n in run.session["async"].items()
            if k not in ("stacks", "several_awaiters") and isinstance(n, int) and n}


@pytest.mark.interpreters("few")
@pytest.mark.parametrize("how", BY_HAND)
def test_run_by_hand(interpreter, how, out):
    run = record(interpreter, out, how, whole=True)
    samples = run.count(BY_HAND[how])
    assert samples > 50
    assert counted(run) == {"async_unfound": samples}, run.stacks.most_common(8)
    assert run.session["async"]["stacks"] == 0
    of_processes = [p["async"].get("async_unfound", 0) for p in run.session["processes"]]
    assert sum(of_processes) == samples, of_processes


@pytest.mark.interpreters("two")
def test_a_generator_is_no_coroutine(interpreter, out):
    run = record(interpreter, out, "plain", whole=True)
    assert run.count("plain") > 50
    assert not counted(run)


@pytest.mark.interpreters("two")
def test_one_that_blocks_its_thread(interpreter, out):
    run = record(interpreter, out, "block", "-m", "wall", whole=True, seconds=1)
    assert run.count("block") > 50
    assert counted(run).keys() == {"async_unfound"}
    # A wait of several samples is counted once.
    assert 10 < counted(run)["async_unfound"] <= run.count("block")


@pytest.mark.interpreters("few")
def test_before_asyncio_is_found(interpreter, out):
    """The program's task runs as soon as asyncio is there; later its stacks have no loop."""
    if interpreter.minor < (3, 7):
        pytest.skip("asyncio.run() begins with 3.7")
    run = record(interpreter, out, "first", whole=True, seconds=1)
    with_loop = sum(n for s, n in run.having("first").items() if s[0] == "<module>")
    assert with_loop <= sum(counted(run).values()), counted(run)
    assert run.count("first") <= run.session["async"]["stacks"] + sum(counted(run).values())
    if interpreter.minor >= (3, 8):
        assert run.session["async"]["stacks"] > run.count("first") / 2, counted(run)


@pytest.mark.interpreters("few")
def test_nine_loops_at_once(interpreter, out):
    """Up to 3.13 eight tasks that run are looked at. The stack of the ninth has the loop, and is counted."""
    if interpreter.minor < (3, 8):
        pytest.skip("--async begins with 3.8")
    run = record(interpreter, out, "loops9", seconds=1.5)
    with_loop = {s: n for s, n in run.having("burn").items() if set(s) & set(LOOP)}
    whole = {s for s in run.having("burn") if s not in with_loop}
    assert {tuple(f for f in s if f not in ("<GC>",)) for s in whole} == {("looped", "task", "burn")}, whole
    assert sum(with_loop.values()) <= sum(counted(run).values()), (with_loop, counted(run))
    if interpreter.minor <= (3, 13):
        assert counted(run)["async_unfound"] > 0
    else:       # for milliseconds its memory may not be there: khugepaged makes a huge page of it
        assert sum(with_loop.values()) < run.count("burn") / 50, with_loop
