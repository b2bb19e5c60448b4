# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames of compiled code, as Nuitka makes them (targets/compiled): their lines, and whole stacks."""
import collections
import json
import subprocess

import pytest

from paths import TARGETS
from recording import Recording, succeeded, tachbpf
from target import Target

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

SOURCE = TARGETS / "compiled" / "compiled.c"
LINES = {"inner": {101, 107}, "outer": {44}, "outermost": {9}}
OUTERMOST = ("Python", "compiled")


def build(interpreter, scratch):
    """The module for an interpreter: the directory that has it."""
    directory = scratch / f"compiled-{interpreter.name}"
    if not directory.exists():
        directory.mkdir()
        headers = [f"-I{i}" for i in dict.fromkeys(interpreter.includes)]
        headers += [h + "/internal" for h in headers]
        if interpreter.root:
            headers += ["-idirafter", interpreter.root + "/usr/include"]
        subprocess.run(["musl-gcc" if interpreter.libc == "musl" else "gcc", "-O1", "-w", "-shared", "-fPIC",
                        "-nostdlib", *headers, "-o", directory / "compiled.so", SOURCE], check=True)
    return directory


def playing(interpreter, scratch, outermost, how):
    return Target(interpreter, scratch, build(interpreter, scratch), outermost, how, name="compiled",
                  program="compiled/play_compiled.py")


def dumped(target, tid):
    process, = json.loads(succeeded(tachbpf("dump", "--json", target.pid)).stdout)["processes"]
    thread, = (t for t in process["threads"] if t["tid"] == tid)
    return [(f["function"].rpartition(".")[2], f["line"]) for f in thread["frames"]]


@pytest.mark.parametrize("outermost", OUTERMOST)
def test_a_dump_has_the_lines_that_traceback_has(interpreter, scratch, outermost):
    with playing(interpreter, scratch, outermost, "stop") as target:
        target.go()
        for line in sorted(LINES["inner"]):
            target.expect("here")
            truth = json.loads(target.truth_path.read_text())
            stack = list(map(tuple, truth["stack"]))
            assert ("inner", line) in stack and ("outer", 44) in stack
            # What it waits in, further inside, is not in the truth.
            assert dumped(target, truth["tid"])[-len(stack):] == stack
            target.go()
        target.expect("done")


@pytest.mark.parametrize("options", [(), ("--native",)], ids=["plain", "native"])
@pytest.mark.parametrize("outermost", OUTERMOST)
def test_a_recording_has_both_lines(interpreter, scratch, out, oracle, outermost, options):
    with playing(interpreter, scratch, outermost, "nap") as target, \
            Recording(["-m", "wall", "-p", target.pid, "-o", out / "a.tach", *options]) as recording:
        recording.wait_recording()
        target.go()
        target.expect("done")
        target.leave()
        succeeded(recording.wait())
    profile, = oracle.load(out / "a.tach")
    seen = collections.defaultdict(set)
    for sample in profile.samples:
        assert "<truncated>" not in [f.func for f in sample.frames]
        for frame in sample.frames:
            seen[frame.func].add(frame.line)
    for function in ("inner", "outer", *["outermost"] * (outermost == "compiled")):
        assert seen[function] == LINES[function]
