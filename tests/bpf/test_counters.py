# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kernel side's own counters, through the --json summary: every tick is accounted for."""
import json
import re
import subprocess
import time
from pathlib import Path

import pytest

import accounting
import noise
from processes import cpu_s, kill, online_cpus
from recording import Recording, succeeded, tachbpf
from target import Target

RATE = 999
GONE_S = 120            # a safety net: the kernel frees programs when it gets to it


@pytest.fixture(scope="module")
def loaded(scratch, python):
    """Two seconds at 999 Hz of one chosen Python, an unchosen one and a shell that burns."""
    stolen = noise.stolen_s()
    burner = subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True)
    try:
        with Target(python, scratch, "shares=600", cpu=0) as chosen, \
                Target(python, scratch, "shares=600") as other:
            chosen.go()
            other.go()
            with Recording(["-p", chosen.pid, "-r", RATE, "-d", "2", "-o",
                            scratch / "counters.tach", "--json"]) as recording:
                summary = succeeded(recording.wait()).summary
        yield dict(summary, stolen=noise.stolen_s() - stolen)
    finally:
        kill(burner)


def test_a_busy_cpu_gets_every_tick(loaded):
    # the chosen target is pinned to CPU 0 and never idle: that CPU's clock is never cut into slices
    cpu, = [c for c in loaded["ticks"]["cpus"] if c["cpu"] == 0]
    # what the host takes between two threads no tick tells of: steal does
    bound = noise.count_bound(loaded["duration_s"], RATE, RATE * loaded["stolen"], slices=0)
    assert cpu["expected"] in bound, (cpu, str(bound))
    assert cpu["expected"] == cpu["delivered"] + cpu["missed"]


def test_every_cpu_is_sampled(loaded):
    cpus = loaded["ticks"]["cpus"]
    # those that were idle all the time have no row
    assert 1 < len(cpus) <= online_cpus()
    assert sum(c["delivered"] for c in cpus) == loaded["ticks"]["delivered"]
    assert sum(c["expected"] for c in cpus) == loaded["ticks"]["expected"]


def test_every_tick_ends_in_exactly_one_way(loaded):
    accounting.check(loaded)


def test_ticks_in_processes_not_asked_for_are_counted(loaded):
    # the chosen one has CPU 0: on the others each tick is somebody else's, in one of these ways
    ticks = loaded["ticks"]
    elsewhere = sum(c["delivered"] for c in ticks["cpus"] if c["cpu"])
    assert elsewhere > 0 and ticks["unselected"] > 0
    assert ticks["unselected"] + ticks["kernel_thread"] + ticks["idle"] >= elsewhere
    assert ticks["samples"] <= ticks["delivered"] - elsewhere


def test_the_samples_are_those_that_reached_the_file(loaded):
    assert loaded["ticks"]["samples"] == loaded["samples"]


def test_a_target_that_waits_misses_no_ticks(scratch, python):
    with Target(python, scratch, "shares=600") as target:
        summary = succeeded(tachbpf("-p", target.pid, "-d", "2", "-o", scratch / "idle.tach",
                                    "--json")).summary
    # gaps are seen between two samples of one thread: without samples there are none
    assert summary["samples"] == 0
    assert summary["ticks"]["missed"] == 0


def test_threads_without_python_are_counted_not_sampled(scratch, python):
    stolen = noise.stolen_s()
    with Target(python, scratch, "native=1") as target:
        with Recording(["-p", target.pid, "-r", RATE, "-o", scratch / "native.tach",
                        "--json"]) as recording:
            recording.wait_recording()
            target.go()
            truth = target.wait_done()
            target.leave()
            summary = succeeded(recording.wait()).summary
    accounting.check(summary)
    # the threads' CPU time by the scheduler's count; the main one has no tick here that is native
    bound = noise.count_bound(truth["phases"]["native"]["cpu_s"], RATE,
                              noise.missed(summary, noise.stolen_s() - stolen))
    assert summary["ticks"]["native_thread"] in bound, str(bound)


def test_a_tiny_rate_still_counts_each_tick(scratch, python):
    with Target(python, scratch, "shares=600", cpu=0) as target:
        target.go()
        summary = succeeded(tachbpf("-p", target.pid, "-r", "10", "-d", "5", "-o",
                                    scratch / "slow.tach", "--json")).summary
    accounting.check(summary)
    cpu, = [c for c in summary["ticks"]["cpus"] if c["cpu"] == 0]
    # fifty ticks: chance may do much, but a clock of another rate does more
    assert cpu["delivered"] in noise.count_bound(summary["duration_s"], 10, slices=0)
    assert cpu["delivered"] > 0


def test_one_cpu_only_on_request(scratch, python):
    if online_cpus() < 2:
        pytest.skip("one CPU only")
    with Target(python, scratch, "shares=600", cpu=1) as target:
        target.go()
        stolen, before = noise.stolen_s(), cpu_s(target.pid)
        here = tachbpf("-p", target.pid, "-C", "1", "-d", "1", "-r", RATE, "-o",
                       scratch / "here.tach", "--json")
        most = cpu_s(target.pid) - before
        stolen = noise.stolen_s() - stolen
        there = tachbpf("-p", target.pid, "-C", "0", "-d", "1", "-r", RATE, "-o",
                        scratch / "there.tach", "--json")
    # that CPU is never idle: the target is pinned to it
    summary = succeeded(here).summary
    assert [c["cpu"] for c in summary["ticks"]["cpus"]] == [1]
    bound = noise.count_bound(summary["duration_s"], RATE, RATE * stolen, slices=0)
    assert summary["ticks"]["expected"] in bound, str(bound)
    assert 0 < summary["samples"] <= noise.count_bound(most, RATE).high
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
    end = time.monotonic() + GONE_S
    while ours & programs():
        assert time.monotonic() < end, "programs stay loaded"
