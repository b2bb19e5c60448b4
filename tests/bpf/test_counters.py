# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kernel side's own counters, through the --json summary: every tick is accounted for."""
import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from harness import Recording, Target, kill, online_cpus, succeeded, tachbpf

@pytest.fixture(scope="module")
def loaded(scratch, python):
    """Two seconds at 999 Hz of one chosen Python, an unchosen one and a shell that burns."""
    burner = subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True)
    try:
        with Target(python, scratch, "shares=600", cpu=0) as chosen, \
                Target(python, scratch, "shares=600") as other:
            chosen.go()
            other.go()
            with Recording(["-p", chosen.pid, "-r", "999", "-d", "2", "-o",
                            scratch / "counters.tach", "--json"]) as recording:
                summary = succeeded(recording.wait()).summary
        yield summary
    finally:
        kill(burner)


def test_a_busy_cpu_gets_every_tick(loaded):
    # the chosen target is pinned to CPU 0 and never idle
    cpu, = [c for c in loaded["ticks"]["cpus"] if c["cpu"] == 0]
    # a host may take a virtual CPU away for a moment: those ticks are missed, and said to be
    assert cpu["expected"] == pytest.approx(999 * loaded["duration_s"], rel=0.03)
    assert cpu["expected"] == cpu["delivered"] + cpu["missed"]


def test_every_cpu_is_sampled(loaded):
    cpus = loaded["ticks"]["cpus"]
    # those that were idle all the time have no row
    assert 1 < len(cpus) <= online_cpus()
    assert sum(c["delivered"] for c in cpus) == loaded["ticks"]["delivered"]
    assert sum(c["expected"] for c in cpus) == loaded["ticks"]["expected"]


def test_every_tick_ends_in_exactly_one_way(loaded):
    ticks = loaded["ticks"]
    ends = {k: v for k, v in ticks.items()
            if k not in ("delivered", "expected", "missed", "source", "received", "cpus")}
    assert sum(ends.values()) == pytest.approx(ticks["delivered"], abs=online_cpus()), ends


def test_ticks_in_processes_not_asked_for_are_counted(loaded):
    # the shell and the other Python, a CPU's worth together at the least
    assert loaded["ticks"]["unselected"] >= 999


def test_the_samples_are_those_that_reached_the_file(loaded):
    assert loaded["ticks"]["samples"] == loaded["samples"]


def test_an_idle_machine_misses_no_ticks(scratch, python):
    with Target(python, scratch, "shares=600") as target:
        summary = succeeded(tachbpf("-p", target.pid, "-d", "2", "-o", scratch / "idle.tach",
                                    "--json")).summary
    assert summary["samples"] == 0
    assert summary["ticks"]["missed"] <= 0.02 * 999 * 2 * online_cpus()


def test_threads_without_python_are_counted_not_sampled(scratch, python):
    with Target(python, scratch, "native=3") as target:
        with Recording(["-p", target.pid, "-r", "999", "-o", scratch / "native.tach",
                        "--json"]) as recording:
            recording.wait_recording()
            target.go()
            truth = target.wait_done()
            target.leave()
            summary = succeeded(recording.wait()).summary
    expected = truth["phases"]["native"]["cpu_s"] * 999
    assert summary["ticks"]["native_thread"] == pytest.approx(expected, rel=0.05, abs=20)


def test_a_tiny_rate_still_counts_each_tick(scratch, python):
    with Target(python, scratch, "shares=600", cpu=0) as target:
        target.go()
        summary = succeeded(tachbpf("-p", target.pid, "-r", "10", "-d", "2", "-o",
                                    scratch / "slow.tach", "--json")).summary
    cpu, = [c for c in summary["ticks"]["cpus"] if c["cpu"] == 0]
    assert 19 <= cpu["delivered"] <= 21


def test_one_cpu_only_on_request(scratch, python):
    if online_cpus() < 2:
        pytest.skip("one CPU only")
    with Target(python, scratch, "shares=600", cpu=1) as target:
        target.go()
        here = tachbpf("-p", target.pid, "-C", "1", "-d", "1", "-r", "999", "-o",
                       scratch / "here.tach", "--json")
        there = tachbpf("-p", target.pid, "-C", "0", "-d", "1", "-r", "999", "-o",
                        scratch / "there.tach", "--json")
    assert succeeded(here).summary["ticks"]["delivered"] == pytest.approx(999, rel=0.03)
    assert here.summary["samples"] >= 300
    assert succeeded(there).summary["samples"] == 0


def programs():
    """Ids of the BPF programs in the kernel."""
    out = subprocess.run(["bpftool", "prog", "show", "-j"], capture_output=True, text=True,
                         timeout=60, check=True).stdout
    return {p["id"] for p in json.loads(out)}


def programs_of(pid):
    """Ids of the BPF programs that a process holds."""
    texts = [f.read_text() for f in Path(f"/proc/{pid}/fdinfo").iterdir()]
    return {int(i) for text in texts for i in re.findall(r"^prog_id:\s+(\d+)$", text, re.M)}


def test_a_killed_profiler_leaves_nothing_in_the_kernel(scratch, python):
    with Target(python, scratch, "shares=600") as target:
        with Recording(["-p", target.pid, "-o", scratch / "k.tach"]) as recording:
            recording.wait_recording()
            ours = programs_of(recording.process.pid)
            assert ours and ours <= programs()
            recording.process.kill()
            recording.wait()
    end = time.monotonic() + 10         # the kernel frees programs a little later
    while ours & programs():
        assert time.monotonic() < end, "programs stay loaded"
