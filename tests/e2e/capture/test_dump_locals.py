# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf dump --locals`: variables as Python itself shows them."""
import json
import time

import pytest

from processes import TIMEOUT
from recording import succeeded, tachbpf
from target import Target

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

ARGUMENTS = {"numbers": {"zero", "one", "rest", "minus", "more"}, "strings": {"text"}, "containers": set(),
             "cells": {"shared", "plain"}, "inner": {"own"}, "numbers_of": {"limit"}}


class Variables(Target):
    """variables.py under an interpreter, when both threads sleep."""

    def __init__(self, interpreter, scratch):
        super().__init__(interpreter, scratch, name="variables", program="variables.py")

    def __enter__(self):
        super().__enter__()
        self.__dict__.update(json.loads(self.truth_path.read_text()))
        end = time.monotonic() + TIMEOUT
        while not (self.sleeps(self.tid) and self.sleeps(self.many)):
            assert time.monotonic() < end, "the threads sleep"
            time.sleep(0.01)
        return self

    def sleeps(self, tid):
        with open(f"/proc/{self.pid}/task/{tid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] == "S"


def dump(*argv):
    return json.loads(succeeded(tachbpf("dump", "--json", *argv)).stdout)


def plain(function):
    return function.rpartition(".")[2]


def test_each_value(interpreter, scratch):
    with Variables(interpreter, scratch) as target:
        process, = dump(target.pid, "--locals")["processes"]
    thread, = (t for t in process["threads"] if t["tid"] == target.tid)
    assert thread["locals_steady"] is True and process["locals_left_out"] is False
    found = {plain(f["function"]): {v["name"]: v["value"] for v in f["locals"]} for f in thread["frames"]}
    for function, truth in target.frames.items():
        assert found[function] == truth, function
    for frame in thread["frames"]:
        if plain(frame["function"]) in ARGUMENTS:
            arguments = {v["name"] for v in frame["locals"] if v["argument"]}
            assert arguments == ARGUMENTS[plain(frame["function"])], frame["function"]


def test_of_many_variables_fifty(interpreter, scratch):
    with Variables(interpreter, scratch) as target:
        process, = dump(target.pid, "--locals")["processes"]
    thread, = (t for t in process["threads"] if t["tid"] == target.many)
    frame, = (f for f in thread["frames"] if f["function"] == "many")
    assert [(v["name"], v["value"]) for v in frame["locals"]] == [(f"v{n}", str(n)) for n in range(50)]


def test_the_text(interpreter, scratch):
    with Variables(interpreter, scratch) as target:
        text = succeeded(tachbpf("dump", "--locals", str(target.pid))).stdout
        without = succeeded(tachbpf("dump", str(target.pid))).stdout
        plain_json = dump(target.pid)
    lines = text.splitlines()
    assert "The variables below are data of the process, and may contain secrets." in lines
    at = next(i for i, line in enumerate(lines) if line.startswith("    strings ("))
    assert lines[at + 1:at + 4] == ["        Arguments:", "            text: 'argument'", "        Locals:"]
    assert "\x1b" not in text and r"\x1b[31m" in text
    assert "argument" not in without and "secrets" not in without
    assert all("locals" not in f for t in plain_json["processes"][0]["threads"] for f in t["frames"])


def test_variables_of_a_running_thread_are_marked(interpreter, scratch):
    with Target(interpreter, scratch, name="spin", program="spinning.py") as target:
        thread, = dump(target.pid, "--locals")["processes"][0]["threads"]
    assert thread["locals_steady"] in (False, None)
    if thread["locals_steady"] is False:
        frame, = (f for f in thread["frames"] if f["function"] == "spin")
        assert {"name": "step", "value": "3", "argument": True} in frame["locals"]
