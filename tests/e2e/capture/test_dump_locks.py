# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf dump`: who holds the lock that a thread waits for, and deadlocks."""
import json
import time

import pytest

from processes import TIMEOUT
from recording import succeeded, tachbpf
from target import Target

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

NO_FUTEX = ("handed", "handed_plain")


class Locked(Target):
    """deadlocks.py under an interpreter, when each thread that will wait does."""

    def __init__(self, interpreter, scratch, plan):
        super().__init__(interpreter, scratch, plan, name="deadlocks", program="deadlocks.py")
        self.plan = plan

    def __enter__(self):
        super().__enter__()
        self.__dict__.update(json.loads(self.truth_path.read_text()))
        end = time.monotonic() + TIMEOUT
        while self.plan not in NO_FUTEX and not all(map(self.sleeps, self.tids)):
            assert time.monotonic() < end, "the threads wait"
            time.sleep(0.01)
        return self

    def sleeps(self, tid):
        with open(f"/proc/{self.pid}/task/{tid}/wchan") as f:
            return f.read() not in ("0", "")


def dump(*argv):
    return json.loads(succeeded(tachbpf("dump", "--json", *argv)).stdout)


def looked_at(locked, *argv):
    process, = dump(locked.pid, *argv)["processes"]
    threads = {t["tid"]: t for t in process["threads"]}
    return process, [threads.get(tid) for tid in locked.tids]


@pytest.mark.parametrize("kind, many", (("RLock", 4), ("Lock", 2), ("Lock", 60)))
def test_a_deadlock_is_named(interpreter, scratch, kind, many):
    with Locked(interpreter, scratch, f"{'circle' if kind == 'RLock' else 'plain'}:{many}") as locked:
        process, threads = looked_at(locked)
        text = succeeded(tachbpf("dump", str(locked.pid))).stdout
    deadlock, = process["deadlocks"]
    first = locked.tids.index(deadlock[0])
    assert deadlock == locked.tids[first:] + locked.tids[:first]
    for i, thread in enumerate(threads):
        assert thread["state"] == "lock", thread
        lock = thread["lock"]
        assert lock["type"] == kind and lock["certain"] and not lock["timeout"], (i, thread)
        assert lock["address"] == locked.locks[(i + 1) % many], (i, thread)
        assert lock["holder"] == locked.tids[(i + 1) % many], (i, thread)
        assert lock["held_in"]["function"] == "begin" and lock["held_in"]["line"] > lock["held_in"]["since_line"], lock
    assert text.count("Deadlock: thread ") == 1
    assert text.split("\n")[2].startswith("Deadlock: ") and text.split("\n")[2].count(" -> ") == many, text
    for i, tid in enumerate(locked.tids):
        assert f'hread {tid} "n{i}" waits for {kind} {locked.locks[(i + 1) % many]}, which thread ' \
            f'{locked.tids[(i + 1) % many]} "n{(i + 1) % many}" holds (begin, ' in text, text


def test_a_probable_deadlock(interpreter, scratch):
    """Who has called acquire() is a guess, and is said to be one."""
    with Locked(interpreter, scratch, "by_hand:2") as locked:
        process, threads = looked_at(locked)
        text = succeeded(tachbpf("dump", str(locked.pid))).stdout
    assert sorted(process["deadlocks"][0]) == sorted(locked.tids)
    for i, thread in enumerate(threads):
        assert thread["lock"]["holder"] == locked.tids[1 - i] and not thread["lock"]["certain"], thread
        assert f'which thread {locked.tids[1 - i]} "n{1 - i}" may hold (begin_by_hand, ' in text, text
    assert text.count("Probable deadlock: ") == 2 and "\nDeadlock: " not in text, text


def test_among_blocked_threads(interpreter, scratch):
    with Locked(interpreter, scratch, "circle:2") as locked:
        process, threads = looked_at(locked, "--blocked", "1s")
    assert sorted(process["deadlocks"][0]) == sorted(locked.tids) and all(threads)


def test_a_timeout_is_told(interpreter, scratch):
    with Locked(interpreter, scratch, "timed") as locked:
        process, threads = looked_at(locked)
        text = succeeded(tachbpf("dump", str(locked.pid))).stdout
    assert sorted(process["deadlocks"][0]) == sorted(locked.tids)
    assert [t["lock"]["timeout"] for t in threads] == [True, False]
    assert f'thread {locked.tids[0]} "n0" waits with a timeout for RLock {locked.locks[1]}' in text


@pytest.mark.parametrize("plan, holders", (("held", (None, 0, 0)), ("chain", (None, 0, 1))))
def test_no_deadlock_where_a_lock_is_only_held(interpreter, scratch, plan, holders):
    with Locked(interpreter, scratch, plan) as locked:
        process, threads = looked_at(locked)
    assert process["deadlocks"] == []
    for thread, holder in zip(threads, holders):
        if holder is None:
            assert thread["lock"] is None and thread["state"] == "sleep"
        else:
            assert thread["lock"]["holder"] == locked.tids[holder], thread
            assert thread["lock"]["address"] == locked.locks[holder]


@pytest.mark.parametrize("plan", NO_FUTEX)
def test_locks_that_change_hands_are_no_deadlock(interpreter, scratch, plan):
    with Locked(interpreter, scratch, plan) as locked:
        for _ in range(5):
            process, threads = looked_at(locked)
            assert process["deadlocks"] == []
            for thread in filter(None, threads):
                assert not thread["lock"] or thread["lock"]["address"] in locked.locks
                assert not thread["lock"] or thread["lock"]["holder"] in (None, *locked.tids)
