# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A recording that goes on keeps nothing of what is over: memory, open files, entries in the kernel's tables.

Counted by samples and processes, not by time. What is only late is waited for; what is leaked
never goes. (Every block by itself: make SAN=1 check-unit.)
"""
import os
import re
import subprocess
import time
from pathlib import Path

from bpf_objects import map_entries
from processes import TIMEOUT, kill, use_cpu
from recording import Recording, succeeded
from target import Target

RATE = 9999
LONG_S = 1.5            # of CPU, a round
ROUNDS = 6
COUNT = 100
# Less than malloc's smallest block, 32 bytes, for one sample in four: a recording keeps none.
SAMPLE_BYTES = 8
# What is kept of a process that is over: its row for the summary, with names. Of a thread's last
# stack, which must go, there are 7 KiB and more.
PROCESS_BYTES = 4096


def anonymous(pid):
    """Bytes of the profiler's own memory: the ring buffer, which is the kernel's, is none of it."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(re.search(r"^RssAnon:\s+(\d+)", status, re.M)[1])


def at_last(measure, limit):
    """The measure once it is within its limit, or when patience is at its end."""
    end = time.monotonic() + TIMEOUT
    while (found := measure()) > limit and time.monotonic() < end:
        time.sleep(0.1)
    return found


def growth(target, recording):
    """By how much a recording grows while its target has LONG_S of CPU."""
    before = anonymous(recording.process.pid)
    use_cpu(target.pid, LONG_S)
    return anonymous(recording.process.pid) - before


def test_samples_leave_nothing(python, scratch, out):
    """What is made once is made in one of the first rounds; a leak grows in all of them. In one round the
    recorder may have had too little of a CPU to grow: two in a row must be small."""
    grown, most = [], SAMPLE_BYTES * LONG_S * RATE
    with Target(python, scratch, "shares=600") as target:
        target.go()
        with Recording(["-p", target.pid, "-r", RATE, "-o", out / "x.tach", "--json"]) as recording:
            recording.wait_recording()
            while len(grown) < 2 or (max(grown[-2:]) > most and len(grown) < ROUNDS):
                grown.append(growth(target, recording))
            summary = succeeded(recording.stop()).summary
    print(f"{grown} bytes more in each round, {summary['samples']} samples")
    assert max(grown[-2:]) <= most


# Starts a brood whenever it is told to, and says when all of it is over.
PARENT = """
import subprocess, sys
print("ready", flush=True)
for line in sys.stdin:
    subprocess.run([sys.executable, *sys.argv[1:]], check=True)
    print("done", flush=True)
"""


class Parent:
    def __init__(self, python, scratch, out):
        argv = [scratch / "targets" / "brood.py", out / "truth", COUNT, 4, 5, "both"]
        self.process = subprocess.Popen(python.command("-c", PARENT, *argv), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        start_new_session=True)

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        kill(self.process)

    def brood(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


def dead(pid):
    """Processes in the kernel's table that are no more."""
    return sum(not os.path.exists(f"/proc/{p}") for p in map_entries(pid, "py_procs"))


def brood_leaves(parent, pid):
    """What a hundred processes leave in the recorder: (bytes, open files)."""
    before, fds = anonymous(pid), len(os.listdir(f"/proc/{pid}/fd"))
    parent.brood()
    assert at_last(lambda: dead(pid), 0) == 0
    return anonymous(pid) - before, len(os.listdir(f"/proc/{pid}/fd")) - fds


def test_processes_leave_nothing(python, scratch, out):
    """What is made once is made in one of the first rounds; a leak grows in all of them. Not -a:
    what is held for another test's process is no leak."""
    left = []
    with Parent(python, scratch, out) as parent, \
            Recording(["-p", parent.process.pid, "--children", "-r", 999, "-o", out / "p",
                       "--json"]) as recording:
        recording.wait_recording()
        while len(left) < ROUNDS:
            left.append(brood_leaves(parent, recording.process.pid))
            if left[-1][0] <= PROCESS_BYTES * COUNT and left[-1][1] <= 0:
                break
        summary = succeeded(recording.stop()).summary
    print(f"(bytes, open files) that {COUNT} processes left in each round: {left}")
    assert left[-1][0] <= PROCESS_BYTES * COUNT
    assert left[-1][1] <= 0
    assert summary["samples"] > 0
