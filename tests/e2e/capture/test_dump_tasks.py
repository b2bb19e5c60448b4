# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf dump`: asyncio's tasks, as `python -m asyncio pstree` of the same interpreter shows them."""
import json
import re
import shutil

import pytest

import pstree
from interp import cache
from present import FOUND, absent, need
from pypi import PyPI, path_of
from recording import succeeded, tachbpf
from target import Target

STABLE = 50


@pytest.fixture(params=["sid-3.14", "sid-3.15"])
def tells(request):
    """A CPython that says where its tasks are."""
    return need(request.param)


class Tasks(Target):
    """awaiting.py under an interpreter."""

    def __init__(self, interpreter, scratch, *plan, env=None):
        super().__init__(interpreter, scratch, *plan, name="tasks", program="awaiting.py", env=env)


def dump(pid):
    return succeeded(tachbpf("dump", pid)).stdout


def dump_json(pid):
    process, = json.loads(succeeded(tachbpf("dump", "--json", pid)).stdout)["processes"]
    return process


def test_every_way_to_wait(tells, scratch):
    with Tasks(tells, scratch, "tree") as target:
        want = pstree.once(pstree.lines(tells, target.pid))
        assert pstree.of_dump(dump(target.pid)) == want
    assert len(want) > 80 and any("in_nested_for" in line for line in want)


def test_ten_thousand(tells, scratch):
    with Tasks(tells, scratch, "many", "10000") as target:
        want = pstree.once(pstree.lines(tells, target.pid))
        said = dump(target.pid)
        process = dump_json(target.pid)
    assert len(want) == 2 + 4 * 10000
    assert "\n10001 asyncio tasks\n" in said and pstree.of_dump(said) == pstree.folded(want)
    assert said.endswith("└── and 9999 more at the same lines\n") and len(said.splitlines()) <= 25
    assert len(process["tasks"]) == 10001


@pytest.mark.interpreters("two")
def test_many_that_look_the_same(interpreter, scratch):
    """On every version: the first of them is shown, and how many there are is what the JSON says."""
    if interpreter.minor < (3, 8):
        pytest.skip(f"{interpreter}'s tasks are not listed")
    if interpreter.minor >= (3, 14):
        pytest.skip(f"test_ten_thousand is about {interpreter}")
    with Target(interpreter, scratch, "many", "500", name="homes", program="home_tasks.py") as target:
        said, process = dump(target.pid), dump_json(target.pid)
    ways = [tuple((c["function"], c["line"]) for c in task["coroutines"]) for task in process["tasks"]]
    many = max(ways, key=ways.count)
    assert ways.count(many) >= 500
    assert said.count(f"and {ways.count(many) - 1} more at the same lines\n") == 1
    assert len(re.findall(r"\(T\) ", said)) == len(ways) - ways.count(many) + 1


def stable_lines(lines):
    """The tasks that stand still, each with its coroutines, without what draws the tree."""
    bare = [line.lstrip(" │├└─") for line in lines]
    found = {}
    for i, line in enumerate(bare):
        name = re.fullmatch(r"\(T\) (stable-\d+)", line)
        if name:
            found[name[1]] = bare[i + 1:i + 3]
    return found


def stable_tasks(process):
    """The same of a dump's JSON."""
    return {task["name"]: [f"{c['function']} {c['file']}:{c['line']}" for c in task["coroutines"]]
            for task in process["tasks"] if task["name"].startswith("stable-")}


def test_at_full_speed(tells, scratch):
    """The tasks that stand still are all there, whole, each time, and as pstree shows them, when it can."""
    with Tasks(tells, scratch, "busy", "100") as target:
        looks = [dump_json(target.pid) for _ in range(10)]
        said = dump(target.pid)
        asked = [pstree.run(tells, target.pid) for _ in range(5)]
    names = {f"stable-{i}" for i in range(STABLE)}
    for process in looks:
        found = stable_tasks(process)
        assert set(found) == names and process["tasks_complete"]
        assert all("stable " in two[0] and "Event.wait " in two[1] for two in found.values()), found
        assert not any(t["moved"] or t["cut"] for t in process["tasks"] if t["name"] in names)
        assert 100 < len(process["tasks"]) < 2 * 401
    assert set(stable_lines(pstree.of_dump(said))) == {"stable-0"}
    assert f"and {STABLE - 1} more at the same lines" in said and "some are missing" not in said
    answers = [stable_lines(a.stdout.splitlines()) for a in asked if not a.returncode]
    assert all(answer == stable_tasks(looks[0]) for answer in answers)


def test_a_circle(tells, scratch):
    """pstree says that there is one, and shows nothing else; we show all with a mark."""
    with Tasks(tells, scratch, "cycle") as target:
        theirs = pstree.run(tells, target.pid)
        said, process = dump(target.pid), dump_json(target.pid)
    assert theirs.returncode and "cycle: " in theirs.stderr
    assert said.count("(awaits itself: a cycle)") == 1
    assert {t["name"]: t["cycle"] for t in process["tasks"]} == \
        {"Task-1": False, "outside": False, "one": True, "two": True}


def test_two_loops(tells, scratch):
    """The newest thread comes first, as 3.15's pstree has it. 3.14's shows the main thread's tasks only."""
    with Tasks(tells, scratch, "threads") as target:
        want = pstree.once(pstree.lines(tells, target.pid))
        said, process = dump(target.pid), dump_json(target.pid)
        truth = json.loads(target.truth_path.read_text())
    ours = pstree.of_dump(said)
    assert ours == want if tells.minor >= (3, 15) else ours[-len(want):] == want and len(ours) > len(want)
    tids = {t["name"]: t["tid"] for t in process["tasks"]}
    main, other = truth["tids"]
    assert [tids[f"first-{i}"] for i in range(3)] == [main] * 3
    assert [tids[f"other-{i}"] for i in range(3)] == [other] * 3


def test_json(tells, scratch):
    with Tasks(tells, scratch, "many", "3") as target:
        process = dump_json(target.pid)
    first, *handlers = process["tasks"]
    assert process["tasks_complete"] and first["name"] == "Task-1" and first["awaited_by"] == []
    assert len(handlers) == 3
    for task in handlers:
        assert task["awaited_by"] == [first["id"]] and task["tid"] == target.pid
        assert [c["function"] for c in task["coroutines"]] == ["handle", "leaf", "sleep"]
        assert task["coroutines"][0]["file"].endswith("awaiting.py") and task["coroutines"][0]["line"] > 0
        assert not (task["running"] or task["moved"] or task["cut"] or task["cycle"])


def test_a_process_without_asyncio(tells, scratch):
    with Target(tells, scratch, "nap", name="hung", program="hung.py") as target:
        said, process = dump(target.pid), dump_json(target.pid)
    assert "asyncio" not in said and not process["tasks"]


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


def test_uvloop(tells, scratch):
    """Its loop is its own, its tasks are asyncio's."""
    with Tasks(tells, scratch, "uvloop", "20", env=library("uvloop==0.23.0", tells, scratch)) as target:
        want = pstree.once(pstree.lines(tells, target.pid))
        said = dump(target.pid)
    assert "\n21 asyncio tasks\n" in said and pstree.of_dump(said) == pstree.folded(want)
