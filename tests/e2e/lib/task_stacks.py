# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A recording of targets/tasks.py with --async: the stacks of its functions, and what it says of itself."""
import collections
import json
import os
import re
import signal
import subprocess

from command import good
from paths import TARGETS
from processes import use_cpu
from recording import Recording, succeeded, tachbpf

RATE = 999
LOOP = ("Handle._run", "BaseEventLoop._run_once", "BaseEventLoop.run_forever", "Runner.run")


class Run:
    """A recording of a program: stacks of functions, the root first; what it and the program say.

    It has so much CPU time of tasks that run already, or (whole) all that the program does.
    """

    def __init__(self, interpreter, out, how, *options, seconds=1, whole=False, path="", rate=RATE,
                 program="tasks.py"):
        (out / program).write_text((TARGETS / program).read_text())
        command = list(map(str, interpreter.command("-B", out / program, how,
                                                    seconds if whole else 1000)))
        clock = ["-r", rate] if rate else []
        options = [*clock, "-o", out / "rec", "--split", "all", *options]
        if whole:
            said = succeeded(tachbpf(*options, "--", *command)).stdout
        else:
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                  env=dict(os.environ, PYTHONPATH=str(path))) as target:
                try:
                    assert target.stdout.readline() == "ready\n"
                    with Recording([*options, "-p", target.pid]) as recording:
                        recording.wait_recording()
                        use_cpu(target.pid, seconds)
                        succeeded(recording.stop())
                    target.send_signal(signal.SIGUSR1)
                    said = target.stdout.read()
                finally:
                    target.kill()
        book = re.search(r"^\{.*\}$", said, re.M)
        self.book = json.loads(book[0]) if book else None
        rec = out / "rec"       # of one process a file, of several a directory
        session = rec / "session.json" if rec.is_dir() else out / "rec.json"
        self.session = json.loads(session.read_text())
        # Without asyncio; or while khugepaged made a huge page of a task's memory, for milliseconds.
        self.few_unfound = 0.02 * self.session["samples"] if not whole else self.session["samples"]
        self.stacks = collections.Counter()
        for line in good("replay", "--format", "collapsed", "-o", "-", out / "rec").splitlines():
            stack, count = line.rsplit(" ", 1)
            self.stacks[functions(stack)] += int(count)

    def having(self, function):
        return {s: n for s, n in self.stacks.items() if function in s}

    def count(self, function):
        return sum(self.having(function).values())

    def chains(self, function):
        """The stacks with a function of a task, but for those that were cut off in time, whose task had ended
        before its chain was read (up to 3.13), or was not found: they have the loop."""
        cut = {s: n for s, n in self.having(function).items()
               if set(s) & set(LOOP) or (s[:2] == ("<module>", "run") and set(s) & {"handle", "reply"})}
        told = self.session["async"]
        assert sum(cut.values()) <= told["async_late"] + told["async_gone"] + told["async_unfound"], cut
        assert told["async_unfound"] <= self.few_unfound, told
        return set(self.having(function)) - set(cut)


def functions(stack):
    """of "PROCESS;tid:1;a.py:f:3;<GC>;..." """
    names = []
    for frame in re.split(r"(?:^|;)tid:[^;]*;", stack)[-1].split(";"):
        parts = frame.split(":")
        names.append(parts[-2] if len(parts) > 2 else frame)
    return tuple(names)
