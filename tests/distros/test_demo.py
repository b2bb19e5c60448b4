# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""README's first command on fresh systems of several distributions."""
import re
import time

# Functions of tools/demo.py, which uses a CPU all the time.
DEMO_ROW = re.compile(r"^ *\d+\.\d+ .*/src/tools/demo\.py:\d+$", re.M)
COMPLAINT = re.compile(r"warning|deprecated|not found|fatal:|^E: ", re.I)
# On a machine that does other things the demo's own functions need not be the hottest.
DEMO = """
make -C /src demo || exit 1
echo "== all of its rows"
/src/build/tachbpf report --limit 0 /tmp/tachbpf-demo.*/profile
"""


def test_demo(ready, keep, record_property):
    """It builds without a warning, profiles, and shows its own program's functions."""
    with ready.fresh() as run:
        start = time.monotonic()
        done = run("sh", "-c", DEMO)
        record_property("demo", {ready.name: time.monotonic() - start})
    keep(done.stdout)
    assert done.returncode == 0, done.stdout[-4000:]
    demo, _, rows = done.stdout.partition("== all of its rows\n")
    build = demo.partition("\n== ")[0]          # a recording may warn of a busy machine
    complaints = [line for line in build.splitlines() if COMPLAINT.search(line)]
    assert not complaints, complaints
    assert "/profile\n" in demo and "flame graph" in demo
    assert DEMO_ROW.search(rows), done.stdout[-4000:]
