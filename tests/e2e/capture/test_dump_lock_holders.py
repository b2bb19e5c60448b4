# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf dump`: who holds a lock that does not say it, in each version's form of the `with` statement."""
import json
import time

import pytest

from processes import TIMEOUT
from recording import succeeded, tachbpf
from target import Target

pytestmark = pytest.mark.interpreters("few")


class Holders(Target):
    """lock_holders.py under an interpreter, when each thread that will wait does."""

    def __init__(self, interpreter, scratch, plan):
        super().__init__(interpreter, scratch, plan, name="holders", program="lock_holders.py")

    def __enter__(self):
        super().__enter__()
        self.rows = json.loads(self.truth_path.read_text())
        end = time.monotonic() + TIMEOUT
        while not all(self.sleeps(row["waiter"]) for row in self.rows):
            assert time.monotonic() < end, "the threads wait"
            time.sleep(0.01)
        return self

    def sleeps(self, tid):
        with open(f"/proc/{self.pid}/task/{tid}/wchan") as f:
            return "futex" in f.read()

    def dump(self):
        """[what is true, what is said of the lock], ...; and the deadlocks."""
        process, = json.loads(succeeded(tachbpf("dump", "--json", self.pid)).stdout)["processes"]
        threads = {t["tid"]: t["lock"] for t in process["threads"]}
        return [(row, threads[row["waiter"]]) for row in self.rows], process["deadlocks"]


def check_holder(row, lock):
    assert lock and lock["type"] == row["type"] and lock["holder"] == row["holder"], (row, lock)
    assert lock["certain"] == row["certain"], (row, lock)
    assert row["address"] in (None, lock["address"]), (row, lock)


@pytest.mark.parametrize("plan", ("held", "free"))
def test_who_is_inside_of_a_with_statement(interpreter, scratch, plan):
    with Holders(interpreter, scratch, plan) as holders:
        locks, deadlocks = holders.dump()
    assert deadlocks == [] and locks
    for row, lock in locks:
        check_holder(row, lock)
        place = lock["held_in"]
        assert (place is None) == (row["line"] is None), (row, lock)
        if place:
            assert place["by"] == "with", (row, lock)
            assert place["function"].endswith(row["function"]) and place["since_line"] == row["line"], (row, lock)
            assert place["line"] >= row["line"], (row, lock)


def test_what_else_threads_wait_for(interpreter, scratch):
    with Holders(interpreter, scratch, "kinds") as holders:
        locks, deadlocks = holders.dump()
        text = succeeded(tachbpf("dump", str(holders.pid))).stdout
    for row, lock in locks:
        if row.get("itself"):
            assert deadlocks == [[row["waiter"]]] and lock["holder"] == row["waiter"], (row, lock)
            assert f"\nDeadlock: {row['waiter']} " in text and "which this thread holds" in text, text
            continue
        check_holder(row, lock)
        assert lock["other_process"] == row.get("foreign", False), (row, lock)
        assert lock["module"] == row.get("module"), (row, lock)
        if row["what"] == "by hand":
            assert lock["held_in"]["function"] == "acquired_by_hand" and lock["held_in"]["by"] == "acquire", lock
        if row["what"] == "import":
            assert lock["held_in"]["function"] == "imports" and lock["held_in"]["by"] == "import", lock
            assert lock["held_in"]["since_line"] is None and lock["held_in"]["line"] > 0, lock
            assert " holds (imports, " in text, text
        if row.get("foreign"):
            assert "no thread of this process" in text, text
    assert " to be notified" in text and " may hold (" in text, text
