# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""CPUs go offline and online again during a recording."""
import json
import os
import signal
import time
from pathlib import Path

import pytest

import accounting
from command import good
from processes import online_cpus, use_cpu
from recording import Recording, succeeded
from target import Target

PATIENCE_S = 120        # an upper limit: the test judges that it happens, not when

pytestmark = pytest.mark.alone


def switch(cpu, on):
    cpu.write_text("1" if on else "0")


@pytest.fixture
def last_cpu():
    number = online_cpus() - 1
    control = Path(f"/sys/devices/system/cpu/cpu{number}/online")
    if number < 1 or not control.exists():
        pytest.skip("no CPU of this machine can be taken offline")
    try:
        switch(control, False)
        switch(control, True)
    except OSError as error:
        pytest.skip(f"CPU {number} cannot be taken offline: {error}")
    yield control
    switch(control, True)


def wait_for(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "the events do not change"
        time.sleep(0.05)


def test_a_cpu_that_is_online_again_is_sampled_again(scratch, python, last_cpu):
    with Target(python, scratch, "shares=600") as target:
        target.go()
        with Recording(["-p", target.pid, "-r", "99", "-o", scratch / "hotplug.tach",
                        "--json"]) as recording:
            recording.wait_recording()
            events = recording.perf_events()
            switch(last_cpu, False)
            wait_for(lambda: recording.perf_events() == events - 1)
            switch(last_cpu, True)
            wait_for(lambda: recording.perf_events() == events)
            use_cpu(target.pid, 0.5)        # 50 samples: none with a probability of e^-50
            finished = succeeded(recording.stop())
    accounting.check(finished.summary)
    assert finished.summary["samples"] > 0
    assert not any(finished.summary["lost"].values())


def cpu_of(control):
    return int(control.parent.name[len("cpu"):])


def test_a_cpu_that_was_offline_while_nobody_looked_is_sampled_again(scratch, python, last_cpu):
    """Its event is dead, and both times that the profiler looks the CPU is online. The profiler is
    stopped meanwhile. How many ticks were missed is said, too."""
    path = scratch / "unseen.tach"
    with Target(python, scratch, "shares=600") as target:
        target.go()
        with Recording(["-p", target.pid, "-r", "99", "-d", PATIENCE_S, "-o", path, "--json",
                        "-vv"]) as recording:
            recording.wait_recording()
            recording.process.send_signal(signal.SIGSTOP)
            switch(last_cpu, False)
            switch(last_cpu, True)
            recording.process.send_signal(signal.SIGCONT)
            os.sched_setaffinity(target.pid, {cpu_of(last_cpu)})
            assert any("came online" in line for line in recording.process.stderr), \
                "the event was not opened again"
            again = time.monotonic()
            use_cpu(target.pid, 0.5)        # 50 samples
            finished = succeeded(recording.stop())
    accounting.check(finished.summary)
    row, = [c for c in finished.summary["ticks"]["cpus"] if c["cpu"] == cpu_of(last_cpu)]
    assert row["missed"] > 0
    said = json.loads(good("report", "--json", "--from", f"@{again:.6f}", path))
    assert said["samples"] > 0
