# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""For tests of choosing processes: what to choose from, and whose samples a recording has."""
import os
import select
import subprocess
import time

import pytest

import cgroups
import noise
from processes import TIMEOUT, kill, online_cpus
from recording import Recording, succeeded
from summary import lost_once_known, owners

RATE = 999
# Says "ready", and works from a line on stdin on.
BURN = "import sys\nprint('ready', flush=True)\nsys.stdin.readline()\nwhile True: pass\n"
# Uses so many seconds of CPU in work(); before that it is busy until the file of argv[2] is there.
WORK = """
import os, sys, time
def work():
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end: pass
while sys.argv[2:] and not os.path.exists(sys.argv[2]): pass
work()
"""


class Burner:
    """A busy Python, started by some command line before its own."""

    running = {}        # pid -> Burner

    def __init__(self, python, prefix=(), code=BURN, argv0=None):
        command = python.command("-c", code) if argv0 is None else [argv0, "-c", code]
        self.process = subprocess.Popen([*map(str, prefix), *map(str, command)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)

    def __enter__(self):
        try:
            ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
            assert ready and self.process.stdout.readline() == "ready\n"
        except BaseException:
            kill(self.process)
            raise
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self.running[self.pid] = self
        return self

    def __exit__(self, *_):
        del self.running[self.pid]
        kill(self.process)

    @property
    def pid(self):
        return self.process.pid


def accounts():
    return {pid: noise.account(pid) for pid in Burner.running}


def accounts_while_sampling(recording, before):
    """The last accounts() that were taken while the recorder held all its perf events; before, if
    there are none. CPU time that a burner gets afterwards has no samples."""
    last, end = before, time.monotonic() + TIMEOUT
    while recording.process.poll() is None and time.monotonic() < end:
        now = accounts()
        if recording.perf_events() < online_cpus():
            break
        last = now
        time.sleep(0.05)
    return last


def record(out, *argv, seconds=0.6):
    """The summary, and in it under "accounts" the CPU time that each burner got while the recorder
    sampled: at least, because the last 50 ms of sampling may be missing in it."""
    out.mkdir(exist_ok=True)
    with Recording([*argv, "-r", RATE, "-d", seconds, "-o", out / "x", "--json"]) as recording:
        recording.wait_recording()
        before = accounts()
        after = accounts_while_sampling(recording, before)
        summary = succeeded(recording.wait()).summary
    summary["accounts"] = {pid: after[pid] - before[pid] for pid in before if pid in after}
    return summary


def recorded(summary):
    """pid -> samples of all that is in the files, merged ones included."""
    seen = {}
    for process in summary["processes"]:
        for member in process.get("members") or [process]:
            if member["samples"]:
                seen[member["pid"]] = seen.get(member["pid"], 0) + member["samples"]
    return seen


def away(summary):
    """Ticks of which there is no sample: missed, or lost with a cause that is counted."""
    return noise.missed(summary) + summary["lost_total"]


def expect(summary, *burners, others=True):
    """Samples of these and of nobody else. others: some ran that were not to be recorded.

    Who had too little of a CPU for a sample to be certain may have none; if that is everyone,
    nothing was tested, and a skip says so."""
    seen, given = recorded(summary), summary["accounts"]
    surely = {b.pid for b in burners
              if b.pid not in given or noise.least(given[b.pid].cpu_s, RATE, away(summary))}
    assert surely <= set(seen) <= {b.pid for b in burners}, (seen, given)
    assert not others or summary["ticks"]["unselected"] > 0
    assert not lost_once_known(summary), lost_once_known(summary)
    if burners and not surely:
        pytest.skip(f"the machine had no CPU for any of these: {given}")


def run_in(directory, python, *args):
    """args: those of WORK."""
    return subprocess.Popen(cgroups.enter(directory, python.command("-c", WORK, *args)),
                            stdout=subprocess.PIPE, text=True, start_new_session=True)


def cpu_of(process):
    """CPU seconds of a child that has ended."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def working(summary, oracle):
    """pid -> samples in work()."""
    seen = {}
    for pid, sample in owners(summary, oracle):
        if any(f.func == "work" for f in sample.frames):
            seen[pid] = seen.get(pid, 0) + 1
    return seen
