# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""README's first command on fresh systems of several distributions."""
import re
import time

# Functions of tools/demo.py, which uses a CPU all the time.
DEMO_ROW = re.compile(r"^ *\d+\.\d+ .*/src/tools/demo\.py:\d+$", re.M)
COMPLAINT = re.compile(r"warning|deprecated|not found|fatal:|^E: ", re.I)


def test_demo(ready, record_property):
    """It builds without a warning, profiles, and shows its own program's functions."""
    with ready.fresh() as run:
        start = time.monotonic()
        done = run("make", "-C", "/src", "demo")
        record_property("demo", {ready.name: time.monotonic() - start})
    record_property("output", done.stdout)
    assert done.returncode == 0, done.stdout[-4000:]
    complaints = [line for line in done.stdout.splitlines() if COMPLAINT.search(line)]
    assert not complaints, complaints
    assert DEMO_ROW.search(done.stdout), done.stdout[-4000:]
    assert "flame graph" in done.stdout
