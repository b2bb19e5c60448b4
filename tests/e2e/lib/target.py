# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A program of targets/ that shakes hands through pipes, and what it knows of itself."""
import bisect
import json
import os
import select
import subprocess
from pathlib import Path

from notes import note
from processes import TIMEOUT, kill


class Target:
    """A behaviour of targets/ running under one interpreter; use as a context manager."""

    def __init__(self, interpreter, scratch, *plan, cpu=None, name="target", program="run.py",
                 env=None):
        self.interpreter = interpreter
        self.truth_path = Path(scratch) / f"{name}-{interpreter.name}-{os.urandom(3).hex()}.json"
        argv = interpreter.command(Path(scratch) / "targets" / program, self.truth_path, *plan)
        if cpu is not None:
            argv = ["taskset", "-c", str(cpu), *argv]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, start_new_session=True,
                                        env=dict(os.environ, **(env or {})))
        note(argv, pid=self.process.pid, files=[self.truth_path])

    def __enter__(self):
        try:
            self.expect("ready")
        except BaseException:
            kill(self.process)
            raise
        return self

    def __exit__(self, *_):
        kill(self.process)

    @property
    def pid(self):
        return self.process.pid

    def expect(self, word, timeout=TIMEOUT):
        ready, _, _ = select.select([self.process.stdout], [], [], timeout)
        line = self.process.stdout.readline().strip() if ready else "nothing in time"
        assert line == word, f"{self.interpreter} said {line!r} instead of {word!r}"

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def wait_done(self, timeout=TIMEOUT):
        """Until the work is done; the process stays. Returns its truth."""
        self.expect("done", timeout)
        return Truth(json.loads(self.truth_path.read_text()))

    def stop(self):
        self.process.terminate()
        return self.wait_done()

    def leave(self):
        """Let the process end by itself."""
        self.process.stdin.close()
        assert self.process.wait(TIMEOUT) == 0


class Truth(dict):
    def name(self, qualname):
        """What this version calls a function: up to 3.10 code has no qualified name."""
        return qualname if self["version"] >= [3, 11] else qualname.rpartition(".")[2]

    def stack(self, function):
        """The stack that a leaf function burns in, innermost first."""
        function = self.name(function)
        found = [s for key, s in self["stacks"].items() if key.endswith(":" + function)]
        assert len(found) == 1, f"{function}: {len(found)} stacks"
        return [tuple(frame) for frame in found[0]]

    def window_us(self, phase):
        p = self["phases"][phase]
        return p["start_ns"] // 1000, p["end_ns"] // 1000

    def cpu_between(self, start_us, end_us):
        """CPU seconds the process had in a window of CLOCK_MONOTONIC."""
        return self.cpu_at(end_us) - self.cpu_at(start_us)

    def cpu_at(self, time_us):
        clock, ns = self["clock"], time_us * 1000
        i = bisect.bisect(clock, [ns])
        if i == 0 or i == len(clock):
            return clock[min(i, len(clock) - 1)][1] / 1e9
        (t0, c0), (t1, c1) = clock[i - 1], clock[i]
        return (c0 + (c1 - c0) * (ns - t0) / (t1 - t0)) / 1e9
