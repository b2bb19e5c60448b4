# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf dump`: asyncio's tasks of CPython 3.8 to 3.13 are those of asyncio.all_tasks(), made by C or by Python."""
import json
import re
import shutil

import pytest

import pstree
from interp import cache
from present import FOUND, absent
from pypi import PyPI, path_of
from recording import succeeded, tachbpf
from target import Target

MINORS = range(8, 14)


@pytest.fixture
def homes(interpreter):
    """An interpreter whose tasks are in sets."""
    if interpreter.minor[1] not in MINORS:
        pytest.skip(f"{interpreter} has no sets of tasks")
    return interpreter


class Tasks(Target):
    """home_tasks.py under an interpreter."""

    def __init__(self, interpreter, scratch, *plan, env=None):
        super().__init__(interpreter, scratch, *plan, name="homes", program="home_tasks.py", env=env)

    def truth(self):
        return json.loads(self.truth_path.read_text(encoding="utf-8"))


def listed(pid):
    process, = json.loads(succeeded(tachbpf("dump", "--json", pid)).stdout)["processes"]
    assert process["tasks_complete"]
    return process["tasks"]


def told(task):
    """A task of ours as the program tells of it."""
    return {"id": task["id"], "name": task["name"], "tid": task["tid"], "running": task["running"],
            "functions": [c["function"].rpartition(".")[2] for c in task["coroutines"]]}


def by_id(tasks):
    return sorted(tasks, key=lambda task: task["id"])


def compare(interpreter, scratch, *plan, env=None):
    with Tasks(interpreter, scratch, *plan, env=env) as target:
        ours, truth = listed(target.pid), target.truth()
    assert by_id(map(told, ours)) == by_id(truth)
    assert not any(task["moved"] or task["cut"] or task["cycle"] for task in ours)
    return truth


def test_loops_in_three_threads(homes, scratch):
    truth = compare(homes, scratch, "loops")
    assert len(truth) == 15 and len({task["tid"] for task in truth}) == 3
    assert sum(task["running"] for task in truth) == 1


def test_without_the_c_module(homes, scratch):
    assert len(compare(homes, scratch, "pure")) == 15


def test_both_kinds_of_tasks(homes, scratch):
    assert len(compare(homes, scratch, "mixed")) == 9


def test_many(homes, scratch):
    assert len(compare(homes, scratch, "many", "2000")) == 2002


def test_in_a_task_that_has_begun_eagerly(homes, scratch):
    if homes.minor < (3, 12):
        pytest.skip(f"{homes} has no eager tasks")
    truth = compare(homes, scratch, "eager")
    assert any(task["functions"] == ["eager_step"] and task["running"] for task in truth)


def test_interpreters(homes, scratch):
    if homes.minor < (3, 12):
        pytest.skip(f"asyncio in two interpreters of {homes} shares what it should not")
    assert len(compare(homes, scratch, "interpreters")) == 9


def test_tasks_that_come_and_go(homes, scratch):
    """Those that stand still are there each time, whole."""
    with Tasks(homes, scratch, "lively", "40") as target:
        truth = by_id(target.truth())
        looks = [json.loads(succeeded(tachbpf("dump", "--json", target.pid)).stdout) for _ in range(10)]
    assert len(truth) == 50
    for look in looks:
        process, = look["processes"]
        stable = [task for task in process["tasks"] if task["name"].startswith("stable-")]
        assert by_id(map(told, stable)) == truth


def awaiting(tasks):
    """name -> the names of those that await it."""
    names = {task["id"]: task["name"] for task in tasks}
    return {task["name"]: sorted(names[other] for other in task["awaited_by"]) for task in tasks}


@pytest.mark.parametrize("how", ("c", "pure"))
def test_who_awaits_whom(homes, scratch, how):
    """In each way there is; and the tree has each task below those that await it."""
    with Tasks(homes, scratch, "tree", how) as target:
        ours, truth = listed(target.pid), target.truth()
        said = succeeded(tachbpf("dump", target.pid)).stdout
    assert [task["name"] for task in ours if task["more_may_await"]] == ["odd"]
    assert "(T) odd (more may await it)\n" in said
    want = {task["name"]: task["awaited_by"] for task in truth}
    assert len(want) > 25 and awaiting(ours) == want
    assert by_id(map(told, ours)) == by_id({k: v for k, v in task.items() if k != "awaited_by"} for task in truth)
    assert edges(pstree.of_dump(said)) == {(name, other) for name, others in want.items() for other in others}


def edges(lines):
    """(task, the one that awaits it) of a tree: a task is further to the right than those that it awaits."""
    found, above = set(), []
    for line in lines:
        name = re.search(r"\(T\) (\S+)", line)
        if name:
            above = [(column, task) for column, task in above if column < name.start()]
            if above:
                found.add((name[1], above[-1][1]))
            above.append((name.start(), name[1]))
    return found


@pytest.mark.interpreters("two")
def test_versions_that_do_not_tell(interpreter, scratch):
    """Below 3.8 the text says so where a loop runs, and the JSON has no list."""
    if interpreter.minor >= (3, 8):
        pytest.skip(f"{interpreter} tells")
    with Tasks(interpreter, scratch, "forever") as target:
        said = succeeded(tachbpf("dump", target.pid)).stdout
        process, = json.loads(succeeded(tachbpf("dump", "--json", target.pid)).stdout)["processes"]
    assert "\nasyncio's tasks are listed from CPython 3.8 on.\n" in said
    assert process["tasks"] is None and process["tasks_complete"] is False


def library(package, interpreter, scratch):
    """The environment of a program that has this library of PyPI's, under a path that its root has, too."""
    name = package.partition("==")[0]
    pip = next((i for i in FOUND if i.name.startswith("pyenv-3.1")), None)
    if not pip:
        absent("no pyenv Python with pip is here")
    try:
        found = path_of(PyPI(name, interpreter, (package,), pip))
    except cache.Failed as why:
        pytest.skip(f"{name} is not to be had for {interpreter}: {why}")
    place = scratch / f"{name}-{interpreter.name}"
    shutil.copytree(found, place, dirs_exist_ok=True)
    return {"PYTHONPATH": str(place)}


def test_uvloop(homes, scratch):
    """Its loop does not say which thread runs it."""
    if homes.libc == "musl" or homes.trace_refs or homes.free_threaded:
        pytest.skip(f"PyPI has no uvloop that {homes} could load")
    assert len(compare(homes, scratch, "uvloop", env=library("uvloop", homes, scratch))) == 15
