# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Recordings with --async of targets/task_shapes.py, judged by what the program knows of its tasks."""
import collections
import json
import re
from dataclasses import dataclass, field

from command import good
from paths import TARGETS
from recording import succeeded, tachbpf

PROGRAM = "task_shapes.py"
DRIVERS = ("drive", "drive_thread", "drive_loop", "drive_from_outside")
UNNAMED = "<unresolved>"


@dataclass
class Judged:
    """Samples of the leaves of one shape."""
    whole: int = 0          # with the true chain
    loop: int = 0           # with the event loop in place of a chain
    unnamed: int = 0        # with a function that has no name, which is counted, too
    wrong: collections.Counter = field(default_factory=collections.Counter)

    @property
    def total(self):
        return self.whole + self.loop + self.unnamed + sum(self.wrong.values())


class ShapesRun:
    def __init__(self, interpreter, out, how, *shapes, seconds, rate, path=""):
        out.mkdir(exist_ok=True)
        (out / PROGRAM).write_text((TARGETS / PROGRAM).read_text())
        command = interpreter.command("-B", out / PROGRAM, out / "truth.json", seconds, how, *shapes)
        done = succeeded(tachbpf("--async", "-r", rate, "-o", out / "rec", "--split", "all", "--", *map(str, command),
                                 env={"PYTHONPATH": str(path)} if path else None))
        self.said = done.stderr
        self.truth = json.loads((out / "truth.json").read_text())
        rec = out / "rec"       # of one process a file, of several a directory
        session = rec / "session.json" if rec.is_dir() else out / "rec.json"
        session = json.loads(session.read_text())
        self.told = session["async"]
        self.unresolved = sum(process["unresolved"] for process in session["processes"])
        self.stacks = collections.Counter()
        for line in good("replay", "--format", "collapsed", "-o", "-", rec).splitlines():
            stack, count = line.rsplit(" ", 1)
            self.stacks[own_functions(stack)] += int(count)

    def judged(self, shape):
        """Each stack of a leaf has a true chain, or the event loop, or lacks names, or is wrong."""
        found, leaves = Judged(), set(self.truth["shapes"][shape])
        for stack, count in self.stacks.items():
            leaf = next((f for f in reversed(stack) if f in leaves), None)
            if not leaf:
                continue
            if list(stack) in self.chains_of(leaf):
                found.whole += count
            elif UNNAMED in stack:
                found.unnamed += count
            elif stack[0] in DRIVERS or stack[0] == "<module>":
                found.loop += count
            else:
                found.wrong[stack] += count
        return found

    def chains_of(self, leaf):
        """A sample may be in burn(), or in the leaf itself."""
        chains = self.truth["chains"][leaf]
        return chains + [chain[:-1] for chain in chains]

    @property
    def counted(self):
        """Samples of tasks whose chain is not shown, by cause."""
        return {cause: n for cause, n in self.told.items() if cause not in ("stacks", "several_awaiters")
                and isinstance(n, int)}


def own_functions(stack):
    """The functions of the program's own file, and what has no name, of "PROCESS;tid:1;a.py:f:3;<GC>;...".

    Up to 3.11 a comprehension is a function; it calls leaves, which makes their coroutines.
    """
    frames = re.split(r"(?:^|;)tid:[^;]*;", stack)[-1].split(";")
    own = (frame if frame == UNNAMED else frame.split(":")[-2] for frame in frames
           if frame == UNNAMED or f"{PROGRAM}:" in frame)
    return tuple(function for function in own if not function.endswith("<listcomp>"))
