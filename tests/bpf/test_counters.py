# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The BPF side's counters, as the --json summary has them: every tick is counted once."""
import json
import re
import subprocess
import time
from pathlib import Path

import pytest

import accounting
import noise
from processes import TIMEOUT, cpu_s, kill, online_cpus
from recording import Recording, succeeded, tachbpf
from target import Target

RATE = 999
GONE_S = 120            # an upper limit: the kernel frees programs some time after their last use


@pytest.fixture(scope="module")
def loaded(scratch, python):
    """Two seconds at 999 Hz with a chosen Python, a Python that is not chosen, and a shell that runs."""
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
    # the chosen target is pinned to CPU 0 and never idle, so that CPU's ticks are not interrupted
    cpu, = [c for c in loaded["ticks"]["cpus"] if c["cpu"] == 0]
    # no tick shows the time that the host takes between two threads; steal does
    bound = noise.count_bound(loaded["duration_s"], RATE, RATE * loaded["stolen"], slices=0)
    assert cpu["expected"] in bound, (cpu, str(bound))
    assert cpu["expected"] == cpu["delivered"] + cpu["missed"]


def test_every_cpu_is_sampled(loaded):
    cpus = loaded["ticks"]["cpus"]
    # a CPU that was always idle has no row
    assert 1 < len(cpus) <= online_cpus()
    assert sum(c["delivered"] for c in cpus) == loaded["ticks"]["delivered"]
    assert sum(c["expected"] for c in cpus) == loaded["ticks"]["expected"]


def test_every_tick_ends_in_exactly_one_way(loaded):
    accounting.check(loaded)


def test_ticks_in_processes_that_are_not_chosen_are_counted(loaded):
    # the chosen one has CPU 0: on other CPUs each tick is in another process and ends in one of these
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
    # missed ticks show between two samples of one thread: without samples there are none
    assert summary["samples"] == 0
    assert summary["ticks"]["missed"] == 0


def test_threads_without_python_are_counted(scratch, python):
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
    # the threads' CPU time as the scheduler counts it; the main thread has no native tick
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
    # only fifty ticks, but a wrong rate shows more than chance
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
                         timeout=TIMEOUT, check=True).stdout
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
