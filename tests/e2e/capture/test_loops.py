# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf top --async`, `tachbpf dump`: how asyncio's event loops fare, read from outside."""
import contextlib
import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from interp import cache
from paths import binary
from present import need
from processes import TIMEOUT, family, kill, ready
from pypi import PyPI, path_of
from recording import succeeded, tachbpf

PROGRAM = "targets/loops.py"
SLEEPERS, READY = 5, 57
# Clocks of two processes, and floats of a clock that has run for a year.
ABOUT_S = 0.05


@contextlib.contextmanager
def programs(interpreter, scratch, *plans):
    """loops.py: their pids, and between which times each said that it is ready."""
    with contextlib.ExitStack() as stack:
        found = []
        for plan in plans:
            before = time.monotonic()
            process = stack.enter_context(ready(interpreter.command(Path(scratch) / PROGRAM, *plan)))
            found.append((process.pid, before, time.monotonic()))
        yield found


def window(pids, condition):
    """The first window in which each process' member asyncio meets its condition, and when top began and was read."""
    began = time.monotonic()
    top = subprocess.Popen([binary(), "top", "--async", "--json", "-i", "0.5", *map(str, pids)], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while time.monotonic() < began + TIMEOUT:
            line = top.stdout.readline()
            assert line, "top has ended"
            rows = {p["pid"]: p["asyncio"] for p in json.loads(line)["processes"]}
            if set(rows) == set(pids) and all(condition(row) for row in rows.values()):
                return rows, began, time.monotonic()
    finally:
        kill(top)
    raise AssertionError(f"no such window: {rows}")


def counted(row):
    """It was looked at, and since then its tasks were counted, too."""
    return row and row["looks"] > 2 and row["tasks"] is not None


def judge_blocked(row, ready_by, began, read, said_before):
    assert row["loops"] == 1 and row["tasks"] == SLEEPERS + 1
    assert row["ready_max"] == READY
    for key in "longest_callback_s", "lag_s":
        # It was looked at after top began, and a callback of another turn cannot have been longer.
        assert began - ready_by - ABOUT_S <= row[key] <= read - said_before + ABOUT_S, (key, row)


@pytest.mark.parametrize("name", ["system-3.11", "sid-3.15"])
def test_both_ways(name, scratch):
    """Up to 3.13 sets and dicts say it, then lists of threads."""
    judge(need(name), scratch)


def test_each_version(interpreter, scratch):
    judge(interpreter, scratch)


def judge(interpreter, scratch):
    """A loop that is blocked for good, and one that waits; the first one again without asyncio's C part."""
    plans = [("blocked",), ("idle",)]
    if (3, 8) <= interpreter.minor <= (3, 13):
        plans.append(("blocked", "pure"))
    if interpreter.minor < (3, 8):
        with programs(interpreter, scratch, ("idle",)) as ((pid, _, _),):
            rows, _, _ = window([pid], lambda row: True)
            assert rows == {pid: None}
        return
    with programs(interpreter, scratch, *plans) as found:
        # The loop that waits may have been late before it was left alone.
        rows, began, read = window([pid for pid, _, _ in found],
                                   lambda row: counted(row) and (row["ready_max"] or row["lag_s"] == 0))
        for (pid, before, after), plan in zip(found, plans):
            if plan[0] == "blocked":
                judge_blocked(rows[pid], after, began, read, before)
            else:
                assert rows[pid]["tasks"] == SLEEPERS + 1 and rows[pid]["ready_max"] == 0
                assert rows[pid]["longest_callback_s"] == 0


@pytest.mark.interpreters("one")
def test_a_process_without_a_loop(interpreter):
    with ready(interpreter.command("-c", "import time\nprint('ready', flush=True)\ntime.sleep(10000)")) as process:
        rows, _, _ = window([process.pid], lambda row: True)
    assert rows == {process.pid: None}


def dump(pid, *options):
    return succeeded(tachbpf("dump", *options, pid)).stdout


def loops_of(pid):
    process, = json.loads(dump(pid, "--json"))["processes"]
    return process["loops"]


@pytest.mark.parametrize("name", ["system-3.11", "sid-3.15"])
def test_dump_says_who_blocks(name, scratch):
    """The thread, and its task, once it is a second; and a callback that is no task."""
    with programs(need(name), scratch, ("task",), ("blocked",), ("idle",)) as found:
        (task, before, after), (callback, _, _), (idle, _, _) = found
        asked = time.monotonic()
        loop, = loops_of(task)
        assert asked - after - ABOUT_S <= loop["busy"] <= time.monotonic() - before + ABOUT_S
        assert (loop["in_task"], loop["callback"], loop["ready"], loop["tid"]) == (True, 0, 0, task)
        loop, = loops_of(callback)
        # The sleepers, and the timer that is due.
        assert (loop["in_task"], loop["ready"], loop["timers"]) == (False, READY, SLEEPERS + 1) and loop["late"] > 0
        loop, = loops_of(idle)
        assert (loop["busy"], loop["callback"], loop["ready"], loop["timers"], loop["late"]) == (0, None, 0, SLEEPERS, 0)
        while time.monotonic() < after + 1 + ABOUT_S:
            time.sleep(0.1)
        text = dump(task)
        assert re.search(r"^Thread .*, has blocked its event loop for \d+\.\d s$", text, re.M)
        assert re.search(r"\(T\) Task-1 \(running\), has blocked its event loop for \d+\.\d s$", text, re.M)
        assert "event loop" not in dump(idle)


def test_another_clock(scratch):
    """A container may have a time namespace, in which CLOCK_MONOTONIC is ten days ahead."""
    unshare = ["unshare", "--time", "--monotonic", "864000", "--fork", "--kill-child"]
    if not os.path.exists("/proc/self/ns/time") or subprocess.run([*unshare, "true"], check=False).returncode:
        pytest.skip("this kernel has no time namespaces")
    before = time.monotonic()
    with ready([*unshare, *need("system-3.11").command(Path(scratch) / PROGRAM, "blocked")]) as process:
        after = time.monotonic()
        pid = family(process.pid)[-1]
        rows, began, read = window([pid], counted)
    judge_blocked(rows[pid], after, began, read, before)


@pytest.mark.parametrize("name", ["pyenv-3.11.7", "pyenv-3.13.0"])
def test_uvloop(name, scratch):
    """Its tasks are asyncio's; its queues are its own, and unknown rather than 0."""
    python = need(name)
    try:
        packages = path_of(PyPI("uvloop", python, ("uvloop",)))
    except cache.Failed as error:
        pytest.skip(f"no uvloop: {error}")
    env = dict(os.environ, PYTHONPATH=str(packages))
    process = subprocess.Popen(python.command(Path(scratch) / PROGRAM, "idle", "uvloop"), stdout=subprocess.PIPE, text=True, env=env,
                               start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        rows, _, _ = window([process.pid], counted)
    finally:
        kill(process)
    row = rows[process.pid]
    assert row["loops"] == 1 and row["tasks"] == SLEEPERS + 1
    assert [row[key] for key in ("ready_max", "ready_mean", "longest_callback_s", "lag_s")] == [None] * 4
