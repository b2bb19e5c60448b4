# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A recording of all processes when nothing is new: how often it wakes up, and how soon it sees what is new then."""
import collections
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from present import need
from processes import kill
from recording import Recording, succeeded
from summary import files, owners

SECONDS = 20
# Periods change at most every 24 ticks of 99 Hz (tick_jitter.c), four times a second, and otherwise samples
# wait for 550 ms. Something new (here nobody else's: --uid) makes it ten times a second for a second; twice
# may be what this machine runs itself.
WAKES = SECONDS * (99 / 24 + 1 / 0.55) + 2 * 10
UID = 60124


def wakes(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", text, re.M).group(1))


BUSY = f"import os; os.setuid({UID}); print('ready', flush=True)\nwhile True: pass"


@pytest.mark.truth
def test_a_quiet_recording_wakes_up_seldom(scratch):
    busy = subprocess.Popen([sys.executable, "-S", "-c", BUSY], stdout=subprocess.PIPE, start_new_session=True)
    try:
        busy.stdout.readline()
        with Recording(["-a", "--uid", UID, "-r", 99, "-o", scratch / "quiet", "--json"]) as recording:
            recording.wait_recording()
            time.sleep(3)
            before = wakes(recording.process.pid)
            time.sleep(SECONDS)
            woken = wakes(recording.process.pid) - before
            summary = succeeded(recording.stop()).summary
    finally:
        kill(busy)
    assert 0 < woken <= WAKES, (woken, WAKES)
    assert summary["samples"]


# The name does not fit into the record of the code object (RAW_CODE_NAME): it is read while the process lives.
NAME = "long_" + "n" * 500
JOB_S = 0.25            # user space looks every 100 ms when something is new
QUIET_S = 2.5           # ... for a second, and then every 550 ms
JOBS = 5
BY_TIME = f"""
import os, sys, time
def job():      # with a function that its parent has not
    exec("def {NAME}(end):\\n    while time.perf_counter() < end: pass", globals())
    {NAME}(time.perf_counter() + {JOB_S})
    os._exit(0)
if sys.argv[1:] == ["job"]:
    job()
for i in range({JOBS}):
    time.sleep({QUIET_S})
    if sys.argv[1] == "fork":
        pid = os.fork() or job()
    else:
        pid = os.posix_spawn(sys.executable, [sys.executable, "-S", __file__, "job"], os.environ)
    os.waitpid(pid, 0)
    print(pid, flush=True)
"""


@pytest.mark.truth
@pytest.mark.parametrize("how", ("fork", "exec"))
def test_a_short_process_that_ends_the_quiet_is_seen_while_it_lives(scratch, oracle, how):
    """If user space were to wait on for up to 550 ms, the names of some would be gone."""
    script = scratch / f"{how}ing.py"
    script.write_text(BY_TIME)
    out = scratch / f"quiet-{how}"
    with Recording(["-a", "--uid", UID, "-r", 99, "-o", out, "--json"]) as recording:
        recording.wait_recording()
        cron = subprocess.Popen(need("system-3.11").command("-S", script, how), stdout=subprocess.PIPE, text=True,
                                start_new_session=True, user=UID, group=UID, extra_groups=[])
        try:
            jobs = set(map(int, cron.stdout.read().split()))
        finally:
            kill(cron)
        summary = succeeded(recording.stop()).summary
    assert len(jobs) == JOBS
    seen = collections.Counter(pid for pid, sample in owners(summary, oracle)
                               if any(frame.func == NAME for frame in sample.frames))
    assert set(seen) == jobs, seen
    assert not summary["unresolved"]
    assert any(script.name in row["command"] for row in files(summary))
