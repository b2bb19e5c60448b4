# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""-m wall --async: what waiting tasks wait for, and for how long, by who awaits them."""
import collections
import re

import pytest

from command import good
from present import need
from recording import succeeded, tachbpf
from target import Target

SECONDS, RATE, TASKS = 4, 99, 200


@pytest.fixture(params=["sid-3.14", "sid-3.15"])
def tells(request):
    return need(request.param)


def record(interpreter, scratch, out, mode, *plan):
    """{(thread, functions, the root first): samples} of the tasks' thread, and the samples of all threads."""
    with Target(interpreter, scratch, *plan, name="tasks", program="awaiting.py") as target:
        succeeded(tachbpf("-m", mode, "--async", "-r", RATE, "-d", SECONDS, "-p", target.pid, "-o", out / "rec"))
    waits, everything = collections.Counter(), 0
    for line in good("replay", "--format", "collapsed", "-o", "-", out / "rec").splitlines():
        stack, count = line.rsplit(" ", 1)
        everything += int(count)
        tid = re.search(r"tid:(\d+)", stack)
        if int(tid[1]) >= 1 << 30:
            frames = stack[tid.end():].strip(";").split(";")
            waits[tuple(frame.split(":")[-2] for frame in frames)] += int(count)
    return waits, everything


def test_one_flame_for_all(tells, scratch, out):
    """200 tasks of one handler are one stack, with the time of all of them, and the loop's thread is there, too."""
    waits, everything = record(tells, scratch, out, "wall", "many", TASKS)
    assert set(waits) == {("many", "handle", "leaf", "sleep")}
    most = TASKS * RATE * (SECONDS + 1)
    assert 0 < sum(waits.values()) <= most and sum(waits.values()) < everything
    assert "asyncio tasks" in good("report", "--by", "thread", out / "rec")


@pytest.mark.truth
def test_the_time_is_right(tells, scratch, out):
    """Nothing is known of the time before the first walk, and behind the last one: a walk of 200 tasks is repeated
    after 0.6 s at the latest."""
    waits, _ = record(tells, scratch, out, "wall", "many", TASKS)
    assert sum(waits.values()) >= TASKS * RATE * (SECONDS - 2)


def test_each_wait_has_its_chain(tells, scratch, out):
    waits, _ = record(tells, scratch, out, "wall", "tree")
    stacks = {" ".join(stack) for stack in waits}
    assert "tree in_nested_for outer_steps steps leaf sleep" in stacks, stacks
    assert "tree in_group TaskGroup.__aexit__ TaskGroup._aexit deep deep deep deep leaf sleep" in stacks, stacks
    assert "tree in_queue Queue.get" in stacks and "tree in_lock Lock.acquire" in stacks, stacks
    assert not any(stack.endswith(("in_gather", "in_shield", "TaskGroup._aexit")) for stack in stacks), stacks


@pytest.mark.parametrize("mode", ["cpu", "gil"])
def test_other_modes_have_none(tells, scratch, out, mode):
    waits, _ = record(tells, scratch, out, mode, "many", 10)
    assert not waits
