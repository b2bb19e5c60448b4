# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf dump`: which asyncio.Lock a task waits for, which task holds it, and deadlocks of tasks."""
import json
import re

import pytest

from recording import succeeded, tachbpf
from target import Target


def test_locks_of_asyncio(interpreter, scratch):
    if interpreter.minor < (3, 8):
        pytest.skip("asyncio's tasks are read from 3.8 on")
    with Target(interpreter, scratch, name="task-locks", program="task_locks.py") as target:
        process, = json.loads(succeeded(tachbpf("dump", "--json", target.pid)).stdout)["processes"]
        text = succeeded(tachbpf("dump", target.pid)).stdout
        truth = json.loads(target.truth_path.read_text())
    tasks, locks = {t["name"]: t for t in process["tasks"]}, truth["locks"]
    for name, (address, inside) in ((n, truth["things"][n]) for n in ("out-1", "out-2")):
        lock = tasks[name]["lock"]
        assert (lock["type"], lock["address"], lock["tasks_inside"]) == ("asyncio.Semaphore", address, inside), lock
        assert lock["holder"] is None and lock["held_in"]["function"] == "permitted", lock
        assert tasks[name]["waits_for"]["kind"] == "semaphore", tasks[name]
    for name, kind, called in ("getter", "queue_get", "queue"), ("late", "event", None):
        assert tasks[name]["waits_for"] == {"kind": kind, "object": truth["things"][name], "name": called, "fd": None,
                                             "peer": None}
    assert tasks["in-1"]["waits_for"]["kind"] == "sleep" and not tasks["in-1"]["lock"], tasks["in-1"]
    assert "(T) getter, waits for Queue queue\n" in text, text
    assert re.search(r"\(T\) out-1, waits for asyncio.Semaphore [\w.]+, which 2 tasks are inside of, such as in-[12] "
                     r"\(permitted, .*/task_locks.py:\d+, inside the `async with` on line \d+\)\n", text), text
    assert re.search(r"\(T\) out-2, waits for asyncio.Semaphore [\w.]+, which task in-3 is inside of \(permitted, ",
                     text), text
    for task, want in truth["tasks"].items():
        if task in truth["things"]:
            continue
        lock = tasks[task]["lock"]
        if not want:
            assert lock is None, (task, lock)
            continue
        assert (lock["type"], lock["address"]) == ("asyncio.Lock", locks[want["lock"]]), (task, lock)
        assert lock["holder"] == tasks[want["holder"]]["id"], (task, lock)
        assert lock["certain"] == (want["by"] == "with") and lock["held_in"]["by"] == want["by"], (task, lock)
        assert lock["held_in"]["function"] == want["function"], (task, lock)
        assert lock["held_in"]["line"] > lock["held_in"]["since_line"], (task, lock)
    ids = [[tasks[name]["id"] for name in names] for names in (("first", "second"), ("itself",))]
    assert sorted(map(sorted, process["task_deadlocks"])) == sorted(map(sorted, ids))
    assert process["deadlocks"] == []
    # Up to 3.13 tasks are in the order of a set.
    assert "\nDeadlock: first -> second -> first\n" in text or "\nDeadlock: second -> first -> second\n" in text, text
    for first, lock, second in ("first", "two", "second"), ("second", "one", "first"):
        assert f"task {first} waits for asyncio.Lock {locks[lock]}, which task {second} holds (cross, " in text, text
    assert "(T) itself, waits for asyncio.Lock lock, which this task holds (again, " in text, text
    assert "(T) patient, waits for asyncio.Lock lock, which task hand may hold (by_hand, " in text, text
    assert "inside the `async with` on line " in text, text
