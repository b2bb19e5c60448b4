# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf dump`: trio's tasks, as trio itself has them."""
import json
import re

import pytest

from recording import succeeded, tachbpf
from target import Target
from trio_packages import OLDEST, packages

class Nurseries(Target):
    """nurseries.py under an interpreter."""

    def __init__(self, interpreter, scratch, *plan, release=None):
        super().__init__(interpreter, scratch, *plan, name="trio", program="nurseries.py",
                         env=packages(interpreter, scratch, release))

    def truth(self):
        return {int(key): task for key, task in json.loads(self.truth_path.read_text()).items()}


def dump(pid):
    return succeeded(tachbpf("dump", pid)).stdout


def dump_json(pid):
    process, = json.loads(succeeded(tachbpf("dump", "--json", pid)).stdout)["processes"]
    return process


def same_as_truth(process, truth):
    ours = {task["id"]: task for task in process["trio_tasks"]}
    assert set(ours) == set(truth)
    for key, task in truth.items():
        said = ours[key]
        assert said["name"] == task["name"] and said["tid"] == task["tid"], said
        assert said["awaited_by"] == ([task["parent"]] if task["parent"] else []), said
        assert [[c["function"], c["file"], c["line"]] for c in said["coroutines"]] == \
            task["frames"], said
        assert not (said["running"] or said["moved"] or said["cut"] or said["cycle"])
    assert process["trio_tasks_complete"]


@pytest.mark.interpreters("few")
def test_every_task(interpreter, scratch):
    with Nurseries(interpreter, scratch, "tree") as target:
        said, process, truth = dump(target.pid), dump_json(target.pid), target.truth()
    same_as_truth(process, truth)
    assert len(truth) == 15 and f"\n{len(truth)} trio tasks\n" in said and "asyncio" not in said
    names = re.findall(r"\(T\) (.*)", said)
    assert names[0] == "<init>" and len(names) == len(truth)


@pytest.mark.interpreters("one")
def test_two_threads(interpreter, scratch):
    with Nurseries(interpreter, scratch, "threads") as target:
        process, truth = dump_json(target.pid), target.truth()
    same_as_truth(process, truth)
    assert len({task["tid"] for task in process["trio_tasks"]}) == 2


@pytest.mark.interpreters("one")
def test_the_oldest_release(interpreter, scratch):
    with Nurseries(interpreter, scratch, "tree", release=OLDEST) as target:
        process, truth = dump_json(target.pid), target.truth()
    same_as_truth(process, truth)


@pytest.mark.interpreters("one")
def test_many(interpreter, scratch):
    """In the order in which they were made."""
    with Nurseries(interpreter, scratch, "many", "3000") as target:
        said, process, truth = dump(target.pid), dump_json(target.pid), target.truth()
    same_as_truth(process, truth)
    assert re.findall(r"\(T\) (task-\d+)", said) == [f"task-{i}" for i in range(3000)]


@pytest.mark.interpreters("one")
def test_at_full_speed(interpreter, scratch):
    """Tasks that stand still are whole each time, whatever comes and goes beside them."""
    with Nurseries(interpreter, scratch, "busy", "60") as target:
        looks = [dump_json(target.pid) for _ in range(8)]
    for process in looks:
        stable = {t["name"]: t for t in process["trio_tasks"] if (t["name"] or "").startswith("stable-")}
        if process["trio_tasks_complete"]:
            assert len(stable) == 20
        assert all(t["coroutines"][0]["function"] == "leaf" and not t["moved"]
                   for t in stable.values())
    assert any(process["trio_tasks_complete"] for process in looks)
