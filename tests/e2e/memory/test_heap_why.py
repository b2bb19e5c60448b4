# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf heap --why`: who keeps the objects of a type, against a program that keeps them in known ways.

targets/keepers.py has a class for each way, so one process answers for all of them.
"""
import json
import re

import pytest

import chains
from command import on_terminal, refused
from paths import TARGETS
from recording import succeeded, tachbpf
from target import Target

pytestmark = pytest.mark.interpreters("one")      # the others in check-all

COUNT = 300
SAMPLE = 256

# The class: where the chain begins, and the chain.
KEEPERS = {
    "InDict": (("module",), r"__main__\.CACHE \(dict\) → __main__\.InDict"),
    "InAttribute": (("class",), r"__main__\.Registry\.things \(list\) → __main__\.InAttribute"),
    "InClosure": (("module",), r"__main__\.HANDLER \(function\) → closure variable things \(list\) → __main__\.InClosure"),
    "InCallback": (("module",), r"__main__\.CALLBACKS \(list\) → method\.__self__ \(__main__\.Bus\) → \.seen \(list\) → "
                             r"__main__\.InCallback"),
    "InCache": (("module",), r"__main__\.load \(functools\._lru_cache_wrapper\) → \.cache \(dict\) → __main__\.InCache"),
    "InLocal": (("module", "thread"), r"(__main__\.LOCAL \(_thread\._local\)|thread \d+ \(dict\)) → .*\.things \(list\) → __main__\.InLocal"),
    "InTraceback": (("module",), r"__main__\.LAST_ERROR \(ValueError\) → \.__traceback__ \(traceback\) → .*"
                              r"→ fails\(\) in keepers\.py: things \(list\) → __main__\.InTraceback"),
    "InVariable": (("module",), r"__main__\.VARIABLE \(list\) → __main__\.InVariable"),
    "InTask": (("suspended",), r"suspended in_task\(\) in keepers\.py: things \(list\) → __main__\.InTask"),
    "InC": (("c",), r"C code.* → __main__\.InC"),
    "InSession": (("module",), r"__main__\.SESSIONS \(dict\) → __main__\.Session\.data \(__main__\.InSession\)"),
    "InThread": (("frame",), r"in_thread\(\) in keepers\.py: things \(list\) → __main__\.InThread"),
    "InDeque": (("module",), r"__main__\.QUEUE \(collections\.deque\) → __main__\.InDeque"),
    "InSet": (("module",), r"__main__\.SET \(set\) → __main__\.InSet"),
    "InSlots": (("module",), r"__main__\.SLOTS \(tuple\) → __main__\.Slots\.held \(__main__\.InSlots\)"),
    "InGenerator": (("suspended",), r"suspended numbers\(\) in keepers\.py: things \(list\) → __main__\.InGenerator"),
    "InCycle": (("cycle",), r"each other → __main__\.InCycle"),
}


class Keepers(Target):
    """keepers.py under an interpreter."""

    def __init__(self, interpreter, scratch, env=None):
        super().__init__(interpreter, scratch, str(COUNT), name="keepers", program="keepers.py", env=env)

    def book(self):
        return json.loads(self.truth_path.read_text())


def why(target, name, *argv):
    said = json.loads(succeeded(tachbpf("heap", "--json", str(target.pid), "--why", name, *argv)).stdout)
    assert said["heap_chains"] == 1 and said["failed"] == 0
    process, = said["processes"]
    assert process["pid"] == target.pid and not process["limited"]
    assert sum(c["objects"] for c in process["chains"]) + process["other"] == process["sampled"]
    return process


def assert_kept(target, book):
    for name, (root, chain) in KEEPERS.items():
        full = "__main__." + name
        if full not in book:
            assert name == "InC"        # without ctypes
            continue
        found = why(target, name)
        # Two words of memory that was freed may look like an object.
        assert found["type"] == full and abs(found["objects"] - book[full]) <= 2, (name, found)
        assert found["sampled"] == min(SAMPLE, COUNT)
        best = found["chains"][0]
        assert best["root"] in root and re.fullmatch(chain, best["chain"]), (name, best)
        assert best["share"] > 0.98, (name, found["chains"])


def test_each_keeper(interpreter, scratch):
    with Keepers(interpreter, scratch) as target:
        assert_kept(target, target.book())


def test_other_allocators(interpreter, scratch):
    """Objects are found by their types, wherever they are."""
    for allocator in ("malloc", "debug"):
        if interpreter.free_threaded:
            pytest.skip("a free-threaded build has one allocator, mimalloc")
        with Keepers(interpreter, scratch, env={"PYTHONMALLOC": allocator}) as target:
            assert_kept(target, target.book())


def test_an_extension_module(interpreter, scratch):
    """What only C code keeps is told from what nobody was found for: with the file whose variable it is in."""
    if not interpreter.includes:
        pytest.skip("this interpreter has no headers here")
    if interpreter.trace_refs:
        pytest.skip("with Py_TRACE_REFS each object is in a list of all, which is C code that refers to it, too")
    module = chains.build(interpreter, scratch, TARGETS / "keepsake.c")
    with Target(interpreter, scratch, module, str(COUNT), name="keepsake", program="keepsake.py") as target:
        found = {name: why(target, name) for name in ("InStatic", "InBlock")}
    for name, process in found.items():
        best = process["chains"][0]
        assert abs(process["objects"] - COUNT) <= 2 and best["root"] == "c" and best["share"] > 0.98, (name, process["chains"])
        assert best["links"][-1]["type"] == f"__main__.{name}" and len(best["links"]) == 1, best
    assert "keepsake.so" in found["InStatic"]["chains"][0]["root_name"], found


def test_what_people_read(interpreter, scratch):
    with Keepers(interpreter, scratch) as target:
        lines = on_terminal(100, "heap", target.pid, "--why", "InDict")
        named = why(target, "InDict", "--values")
        unknown = tachbpf("heap", str(target.pid), "--why", "NoSuchType")
    text = "\n".join(lines)
    assert lines[0] == f"100 % of the {COUNT} __main__.InDict objects are kept by __main__.CACHE, a dict.", text
    assert any(line.startswith(f"Process {target.pid} (keepers.py") for line in lines), text
    assert " 100.0%  __main__.CACHE (dict) → __main__.InDict" in lines, text
    assert "user" not in text       # keys are data
    assert re.fullmatch(r"__main__\.CACHE \(dict\) → \.user\d+ \(__main__\.InDict\)", named["chains"][0]["chain"])
    refused(unknown, "has no object of the type 'NoSuchType'", f"sudo tachbpf heap {target.pid}")


def test_a_name_of_two_types(interpreter, scratch):
    """It is not guessed which one is meant."""
    with Keepers(interpreter, scratch) as target:
        both = tachbpf("heap", str(target.pid), "--why", "Twin", "--json")
        found = {name: why(target, name, "--values") for name in ("lib.Twin", "app.Twin")}
    refused(both, f"process {target.pid} has objects of several types whose name ends in 'Twin'",
            "lib.Twin (20 objects)", "app.Twin (10 objects)", "give one of these names")
    assert "unused" not in both.stderr and json.loads(both.stdout)["failed"] == 1, both
    for name, count in ("lib.Twin", 20), ("app.Twin", 10):
        assert found[name]["type"] == name and found[name]["objects"] == count, found
        assert {chain["root_name"] for chain in found[name]["chains"]} == {"__main__.TWINS"}, found


def test_wrong_command_lines():
    refused(tachbpf("heap", "1", "--why", "dict", "--since", "5"), "mutually exclusive", status=2)
    refused(tachbpf("heap", "1", "--values"), "--values requires --why", status=2)
