# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf dump`: greenlets, as they show themselves."""
import json
import re

import pytest

import greenlets
import pypi
from interp import cache
from present import need
from recording import succeeded, tachbpf
from target import Target


class Switched(Target):
    """switched.py under an interpreter."""

    def __init__(self, interpreter, scratch, *plan, env=None):
        env = dict(env or {}, TARGET_SCRATCH=str(scratch))
        super().__init__(interpreter, scratch, *plan, name="switched", program="switched.py",
                         env=env)

    def truth(self):
        return {int(key): one for key, one in json.loads(self.truth_path.read_text()).items()}


@pytest.fixture(scope="module")
def provided(scratch):
    """For interpreters that have none; Debian's have it in their roots."""
    greenlets.provide(scratch)


def needs_greenlet(interpreter, scratch):
    place = scratch / ("greenlet-%d.%d" % interpreter.minor)
    try:
        interpreter.ask(f"import sys, site; site.main(); sys.path.append({str(place)!r});"
                        "import greenlet; print(1)")
    except Exception:                                     # whatever hinders it
        pytest.skip(f"no greenlet module for {interpreter}")


def dump(pid):
    return succeeded(tachbpf("dump", pid)).stdout


def dump_json(pid):
    process, = json.loads(succeeded(tachbpf("dump", "--json", pid)).stdout)["processes"]
    return process


def frames_of(said):
    return [[f["function"], f["file"], f["line"]] for f in said["frames"]]


def same_as_truth(process, truth):
    ours = {one["id"]: one for one in process["greenlets"]}
    assert set(truth) <= set(ours)
    for key, one in truth.items():
        said = ours[key]
        assert frames_of(said) == one["frames"], (said, one)
        assert said["state"] == one["state"] and said["type"] == one["type"], (said, one)
        assert said["parent"] == one["parent"] and not said["moved"], (said, one)
        if one["tid"] and one["state"] in ("suspended", "running"):
            assert said["tid"] == one["tid"], (said, one)
    assert process["greenlets_complete"]
    return ours


@pytest.mark.interpreters("few")
def test_every_greenlet(interpreter, scratch, provided):
    needs_greenlet(interpreter, scratch)
    with Switched(interpreter, scratch, "tree") as target:
        process, truth = dump_json(target.pid), target.truth()
    ours = same_as_truth(process, truth)
    assert set(ours) == set(truth) and len(truth) == 30
    states = [one["state"] for one in truth.values()]
    assert states.count("running") == 2 and states.count("ended") == 2
    assert states.count("new") == 4 and states.count("suspended") == 22
    assert sum(one["main"] for one in ours.values()) == 2


@pytest.mark.interpreters("one")
def test_alike_as_one(interpreter, scratch, provided):
    needs_greenlet(interpreter, scratch)
    with Switched(interpreter, scratch, "many", "1000") as target:
        said, process, truth = dump(target.pid), dump_json(target.pid), target.truth()
    same_as_truth(process, truth)
    assert "\n1001 greenlets\n" in said and said.count("\nGreenlet: ") == 2
    assert re.search(r"\nGreenlet: 1000 of type greenlet 0x\w+, 0x\w+, 0x\w+, ..., thread \d+, "
                     r"parent 0x\w+\n    back \(.*:\d+\)\n    deep \(", said)


@pytest.mark.parametrize("name", ["pyenv-3.8.18", "pyenv-3.10.13", "pyenv-3.12.1", "pyenv-3.13.0"])
def test_gevent(name, scratch):
    interpreter = need(name)
    try:
        found = pypi.path_of(pypi.PyPI("gevent", interpreter, ("gevent",)))
    except cache.Failed as why:
        pytest.skip(f"gevent is not to be had for {name}: {why}")
    with Switched(interpreter, scratch, "gevent", "100",
                  env={"PYTHONPATH": str(found)}) as target:
        said, process, truth = dump(target.pid), dump_json(target.pid), target.truth()
    ours = same_as_truth(process, truth)
    hub, = (one for one in ours.values() if one["hub"])
    assert hub["state"] == "running" and hub["type"] == "Hub"
    assert re.search(r"\n\d+ greenlets \(gevent\)\n", said)
    assert re.search(r"\nGreenlet: 100 of type Greenlet ", said)


@pytest.mark.interpreters("one")
def test_a_process_without(interpreter, scratch):
    with Target(interpreter, scratch, "nap", name="hung", program="hung.py") as target:
        said, process = dump(target.pid), dump_json(target.pid)
    assert "reenlet" not in said and process["greenlets"] is None
