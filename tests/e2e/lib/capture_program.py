# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tests/bpf/capture_program.c and its answers; CPU time of what it samples."""
import json
import os
import subprocess
import time
from pathlib import Path

from processes import TIMEOUT, kill

PROGRAM = Path(os.environ["TACHBPF"]).parent / "tests" / "bpf" / "capture_program"


def cpu_s(pid):
    """CPU time of all threads of a process, now: its POSIX clock, CPUCLOCK_SCHED."""
    return time.clock_gettime((~pid << 3) | 2)


class Capture:
    """capture_program and its answers; use as a context manager."""

    def __init__(self, rate, mode, *pids):
        self.process = subprocess.Popen([PROGRAM, str(rate), mode, *map(str, pids)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        self.begin = self.answer()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(TIMEOUT)
        finally:
            kill(self.process)

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def say(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self.answer()


def burn(pids, seconds):
    """Wait until each of these has used so much more CPU time."""
    until = {pid: cpu_s(pid) + seconds for pid in pids}
    end = time.monotonic() + TIMEOUT
    while any(cpu_s(pid) < until[pid] for pid in pids):
        assert time.monotonic() < end, "the targets get no CPU"
        time.sleep(0.01)


def of(answer, pid, what):
    return answer["processes"].get(str(pid), {}).get(what, 0)


def grown(before, after, pid, what):
    return of(after, pid, what) - of(before, pid, what)
