# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""README's first command on fresh systems of several distributions."""
import re
import time

from systems import sources

STEP = re.compile(r"^(Installing build dependencies|Building) +\d+\.\d s   (\d+ packages|build/tachbpf)$", re.M)
SHOWED = re.compile(r"^What this showed: .* (\d+) % of its CPU time is in one line,$.*^    demo\.py:\d+: if .* not in self\.visitors:$",
                    re.M | re.S)
COMPLAINT = re.compile(r"warning|deprecated|not found|fatal:|^E: ", re.I)


def test_demo(ready, keep, record_property):
    """Where there is nothing but make: it installs, builds, and says what its own program's fault is."""
    with ready.fresh_bare(sources()) as run:
        start = time.monotonic()
        done = run("make", "--no-print-directory", "-C", "/src", "demo")
        record_property("demo", {ready.name: time.monotonic() - start})
        log = run.path("/src/build/demo.log").read_text()
    keep(done.stdout + log)
    assert done.returncode == 0, done.stdout[-4000:]
    assert [title for title, _ in STEP.findall(done.stdout)] == ["Installing build dependencies", "Building"]
    steps = done.stdout.partition("\n$ ")[0]          # a recording may warn of a busy machine
    assert len(steps.splitlines()) == 2 and not COMPLAINT.search(steps), steps
    assert int(SHOWED.search(done.stdout)[1]) >= 20, done.stdout[-4000:]
    assert "sudo make install" in done.stdout and log.count("\nSetting up ") > 10


def test_a_step_that_fails(ready):
    """The end of its output is shown, and where the rest is."""
    with ready.fresh() as run:
        done = run("sh", "-c", "echo '#error broken' >>/src/user/base/json.c; make -C /src demo")
    assert done.returncode != 0
    assert re.search(r"^Building +failed\nThe last lines of build/demo\.log:\n(    .*\n)*    .*#error broken", done.stdout, re.M)
