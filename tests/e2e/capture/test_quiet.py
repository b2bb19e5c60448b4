# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How often a recording of all processes wakes up when nothing is new."""
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from processes import kill
from recording import Recording, succeeded

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
