# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A Python whose memory cannot be read in time, among healthy ones: it is busy, they are as always."""
import contextlib
import json

import pytest

import hostile
from present import absent
from recording import Recording, succeeded, tachbpf
from selecting import recorded
from target import Target

HEALTHY = 6


@contextlib.contextmanager
def crowd_of(out, scratch, python, cnt, *flags):
    """(pids of cnt that never answer, pids of the others, which sleep; some have a lower number)."""
    program = hostile.build(out, "3.11", "-DSILENT_RUNTIME", *flags)
    with contextlib.ExitStack() as stack:
        def healthy():
            return stack.enter_context(Target(python, scratch, "shares=600")).pid
        before = [healthy() for _ in range(HEALTHY // 2)]
        try:
            silent = [stack.enter_context(hostile.Hostile(program, "plain")).pid for _ in range(cnt)]
        except AssertionError:
            absent("userfaultfd is denied here")
        yield silent, before + [healthy() for _ in range(HEALTHY // 2)]


@pytest.fixture
def crowd(out, scratch, python):
    """(pid of the one that never answers, pids of the others)."""
    with crowd_of(out, scratch, python, 1) as ((silent,), healthy):
        yield silent, healthy


def test_ps_calls_busy_what_it_cannot_read_and_nobody_unready(crowd):
    silent, healthy = crowd
    listed = json.loads(succeeded(tachbpf("ps", "--json")).stdout)["pythons"]
    assert all(p["profilable"] == (p["reason"] is None) for p in listed)
    rows = {p["pid"]: p for p in listed}
    for pid in healthy:
        assert rows[pid]["profilable"] and rows[pid]["remark"] is None, rows[pid]
    assert "busy" in rows[silent]["remark"] and rows[silent]["profilable"]
    assert "initialised" not in json.dumps(rows[silent])


def test_the_table_of_ps_says_busy(crowd):
    silent, healthy = crowd
    lines = succeeded(tachbpf("ps")).stdout.splitlines()
    remarks = [line for line in lines if line.startswith((f"{silent}:", f"{silent} "))
               and "busy" in line]
    assert len(remarks) == 1 and "cannot be profiled" not in remarks[0]
    assert not [line for line in lines for pid in healthy
                if line.startswith((f"{pid}:", f"{pid} cannot"))]


def test_one_that_never_answers_keeps_nobody_from_being_admitted(crowd, out):
    silent, healthy = crowd
    with Recording(["-a", "-o", out / "all", "--json"]) as recording:
        recording.wait_recording()
        summary = succeeded(recording.stop()).summary
    rows = {p["pid"]: p for p in summary["processes"]}
    assert {silent, *healthy} <= set(rows)
    assert not [r for r in summary["refused"] if r["pid"] in rows]


def test_threads_that_sleep_are_walked_whoever_blocks_that(out, scratch, python):
    """They have slept since before the recording and never wake up, so this walk is the only look at them."""
    with crowd_of(out, scratch, python, 3, "-DASLEEP") as (silent, healthy):
        summary = succeeded(tachbpf("-a", "-m", "wall", "-d", 1, "-o", out / "wall", "--json")).summary
    seen = recorded(summary)
    assert not set(silent) & set(seen) and not set(healthy) - set(seen)
    assert summary["switches"]["asleep_unreadable"] >= len(silent)
