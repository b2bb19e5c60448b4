# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The modes that are about waiting, against what threads measured of themselves."""
import json
import os
from collections import Counter
from pathlib import Path

import pytest

import noise
from present import BY_NAME, FOUND
from profiles import GIL_REQUESTED, HAS_EXCEPTION, HAS_GIL, MAIN_THREAD, ON_CPU, SYNTHETIC, UNKNOWN
from recording import Recording, succeeded, tachbpf
from summary import lost
from target import Target

RATE = 999
SECONDS = 3
WAITS = ("nap", "read", "poll", "lock")
FUNCTIONS = {"nap": "wait_nap", "read": "wait_read", "poll": "wait_poll", "lock": "wait_lock",
             "compute": "compute"}
# What the C library calls when each of them waits.
CALLS = {"nap": {"clock_nanosleep", "select", "pselect6", "nanosleep"}, "read": {"read"},
         "poll": {"poll", "ppoll"}, "lock": {"futex"}}
ON_A_CPU = "<waiting for a CPU>"
KINDS = ("blocked", "for the GIL", "for a CPU")     # of waits: each is counted by itself


class Waiter(Target):
    """offcpu.py under an interpreter."""

    def __init__(self, interpreter, scratch, *kinds, seconds=SECONDS, cpu=None):
        super().__init__(interpreter, scratch, seconds, *kinds, cpu=cpu, name="offcpu",
                         program="offcpu.py")

    def truth(self):
        self.expect("done")
        return json.loads(self.truth_path.read_text())


def record(interpreter, scratch, out, oracle, mode, *kinds, seconds=SECONDS, options=(), cpu=None):
    """(truth, summary, profile) of one process in one mode."""
    path = out / f"{mode}.tach"
    with Waiter(interpreter, scratch, *kinds, seconds=seconds, cpu=cpu) as waiter, \
            Recording(["-p", waiter.process.pid, "-m", mode, "-r", RATE, "-o", path, "--json",
                       *options]) as recording:
        recording.wait_recording()
        waiter.go()
        truth = waiter.truth()
        summary = succeeded(recording.stop()).summary
    profile, = oracle.load(path)
    return truth, summary, profile


def seconds_of(samples):
    return len(samples) / RATE


def of_thread(profile, thread):
    """Its samples while it was at work."""
    begin, end = thread["begin"] * 1e6, thread["end"] * 1e6
    return [s for s in profile.samples if s.tid == thread["tid"] and begin <= s.time_us < end]


def blocked(samples):
    return [s for s in samples if not s.status & (ON_CPU | GIL_REQUESTED) and s.frames and
            s.frames[0].func != ON_A_CPU]


def waited(thread, low_s, high_s, kinds=1):
    """What a thread's waits may be that took so long by its own clocks."""
    return noise.wait_bound(low_s, high_s, RATE, thread["switches"], kinds)


def on_a_cpu(thread, cpu_s, missed=0):
    """So many seconds its ticks may be: they come by chance."""
    ticks = noise.count_bound(cpu_s, RATE, missed, thread["switches"])
    switching = noise.wait_error(RATE, thread["switches"])
    return noise.Bound(ticks.low / RATE - switching, ticks.high / RATE + switching)


def in_function(samples, function):
    return [s for s in samples if any(f.func == function for f in s.frames)]


@pytest.fixture(params=[i.name for i in FOUND])
def any_interpreter(root, request):
    return BY_NAME[request.param]


def test_every_mode_has_what_it_is_about(python, scratch, out, oracle):
    """Which samples there are and what they say; how long everything took is measured below."""
    truth, summary, profile = record(python, scratch, out, oracle, "wall", *WAITS, seconds=1)
    assert profile.info["mode"] == 0 and summary["mode"] == "wall"
    assert not any(s.status & UNKNOWN for s in profile.samples)
    for thread in truth["threads"]:
        waiting = [s for s in of_thread(profile, thread) if not s.status & ON_CPU]
        assert in_function(waiting, FUNCTIONS[thread["kind"]])
        assert not any(s.status & MAIN_THREAD for s in waiting)
    assert {s.tid for s in profile.samples if s.status & MAIN_THREAD} == {truth["pid"]}

    truth, _, profile = record(python, scratch, out, oracle, "offcpu", *WAITS, seconds=1)
    assert profile.samples and not any(s.status & ON_CPU for s in profile.samples)
    for thread in truth["threads"]:
        mine = in_function(of_thread(profile, thread), FUNCTIONS[thread["kind"]])
        leaves = {s.frames[0].func for s in mine}
        may = {f"<blocked in {call}>" for call in CALLS[thread["kind"]]} | {"<waiting for the GIL>"}
        assert leaves & {f"<blocked in {call}>" for call in CALLS[thread["kind"]]}, leaves
        strange = sum(s.frames[0].func not in may for s in mine)
        assert strange <= noise.few_bound(len(mine), 0.02), leaves

    truth, _, profile = record(python, scratch, out, oracle, "gil", "compute", "compute", seconds=1)
    assert profile.samples and all(s.status & (HAS_GIL | GIL_REQUESTED) for s in profile.samples)
    for thread in truth["threads"]:
        mine = in_function(of_thread(profile, thread), "compute")
        assert any(s.status & HAS_GIL for s in mine)
        assert any(s.status & GIL_REQUESTED for s in mine)

    truth, _, profile = record(python, scratch, out, oracle, "exception", "handle", "nap", seconds=1)
    handles, nap = truth["threads"]
    assert profile.info["mode"] == 4
    assert profile.samples and all(s.status & HAS_EXCEPTION for s in profile.samples)
    assert {s.frames[0][:2] for s in of_thread(profile, handles)} == {
        (SYNTHETIC, "<exception ValueError>")}
    assert not of_thread(profile, nap)


@pytest.mark.parametrize("mode, kinds", [("offcpu", ("nap", "read")), ("exception", ("handle",))])
def test_self_is_that_of_the_python_function(python, scratch, out, oracle, mode, kinds):
    """What it waits for, and which exception it handles, are rows with --detail only."""
    def rows(*more):
        done = succeeded(tachbpf("report", "--json", "--limit", 0, *more, out / f"{mode}.tach")).stdout
        return {(r["file"], r["function"]): r["self"] for r in json.loads(done)["rows"]}
    _, _, profile = record(python, scratch, out, oracle, mode, *kinds, seconds=1)
    plain, detailed = rows(), rows("--detail")
    nobodys = sum(not any(f.file != SYNTHETIC for f in s.frames) for s in profile.samples)
    functions = sum(n for (file, _), n in plain.items() if file)
    assert functions >= len(profile.samples) - nobodys > 0
    details = {name for file, name in detailed if not file} - {name for file, name in plain if not file}
    assert details and all(name.startswith(("<blocked in ", "<waiting for ", "<exception ", "<GC>"))
                           for name in details), details
    leaves = Counter(s.frames[0].func for s in profile.samples if s.frames and s.frames[0].file == SYNTHETIC)
    assert {name: detailed[None, name] for name in details} == {name: leaves[name] for name in details}


@pytest.mark.truth
def test_wall_sees_every_thread_all_the_time(any_interpreter, scratch, out, oracle):
    truth, summary, profile = record(any_interpreter, scratch, out, oracle, "wall", *WAITS)
    assert profile.info["mode"] == 0
    assert summary["mode"] == "wall" and not lost(summary)
    for thread in truth["threads"]:
        samples = of_thread(profile, thread)
        off_cpu = thread["end"] - thread["begin"] - thread["cpu"]
        assert not any(s.status & UNKNOWN for s in samples)
        waiting = [s for s in samples if not s.status & ON_CPU]
        assert seconds_of(waiting) in waited(thread, off_cpu, off_cpu, len(KINDS))
        there = seconds_of(in_function(waiting, FUNCTIONS[thread["kind"]]))
        assert there in waited(thread, thread["off"] - thread["busy"], thread["off"], len(KINDS))
        running = seconds_of(samples) - seconds_of(waiting)
        assert running in on_a_cpu(thread, thread["cpu"], noise.missed(summary))
        assert not any(s.status & MAIN_THREAD for s in samples)
    # the main thread stands still in join() meanwhile
    main = [s for s in profile.samples if s.status & MAIN_THREAD]
    assert {s.tid for s in main} == {truth["pid"]}
    assert not any(s.status & ON_CPU for s in main[len(main) // 4:-len(main) // 4])


@pytest.mark.truth
def test_offcpu_names_what_it_is_blocked_in(any_interpreter, scratch, out, oracle):
    truth, _, profile = record(any_interpreter, scratch, out, oracle, "offcpu", *WAITS)
    assert not any(s.status & ON_CPU for s in profile.samples)
    for thread in truth["threads"]:
        samples = in_function(of_thread(profile, thread), FUNCTIONS[thread["kind"]])
        # on a busy machine it is without a CPU for some time after what it waited for
        least = thread["off"] - thread["busy"] - thread["starved"]
        assert seconds_of(samples) in waited(thread, least, thread["off"], kinds=2)
        leaves = Counter(s.frames[0].func for s in samples)
        assert all(s.frames[0].file == SYNTHETIC for s in samples)
        # a page of code may have to be read from the disk
        wanted = {f"<blocked in {call}>" for call in CALLS[thread["kind"]]}
        assert {*leaves} & wanted
        assert {*leaves} <= wanted | {"<waiting for the GIL>", "<blocked in page fault>"}, leaves


@pytest.mark.truth
def test_gil_has_holders_and_those_who_wait(any_interpreter, scratch, out, oracle):
    if any_interpreter.free_threaded:
        pytest.skip("a free-threaded build: no GIL")
    truth, summary, profile = record(any_interpreter, scratch, out, oracle, "gil", "compute",
                                     "compute")
    assert all(s.status & (HAS_GIL | GIL_REQUESTED) for s in profile.samples)
    for thread in truth["threads"]:
        samples = of_thread(profile, thread)
        holds = [s for s in samples if s.status & HAS_GIL]
        waits = seconds_of(in_function([s for s in samples if s.status & GIL_REQUESTED and
                                        not s.status & ON_CPU], "compute"))
        assert in_function(holds, "compute")
        # it computes, or waits for the GIL, or, on a busy machine, for a CPU: for both at once, too
        most = thread["end"] - thread["begin"] - thread["cpu"]
        assert waits in waited(thread, most - thread["starved"], most)
        on_cpu = seconds_of([s for s in holds if s.status & ON_CPU])
        off_cpu = seconds_of(holds) - on_cpu
        # asking for the GIL takes CPU time, too: then it has none
        asking = seconds_of([s for s in samples if s.status & ON_CPU]) - on_cpu
        assert on_cpu + asking in on_a_cpu(thread, thread["cpu"], noise.missed(summary))
        assert asking <= on_cpu
        assert off_cpu <= waited(thread, 0, thread["starved"]).high


@pytest.mark.truth
def test_a_thread_without_a_cpu_is_told_from_one_that_sleeps(python, scratch, out, oracle):
    cpu = sorted(os.sched_getaffinity(0))[-1]
    with Waiter(python, scratch, "compute", cpu=cpu) as rival:
        rival.go()
        truth, _, profile = record(python, scratch, out, oracle, "wall", "compute", seconds=2,
                                   cpu=cpu)
        rival.truth()
    thread, = truth["threads"]
    samples = of_thread(profile, thread)
    whole = thread["end"] - thread["begin"]
    waits = [s for s in samples if s.frames[0].func == ON_A_CPU]
    assert not any(s.status & ON_CPU for s in waits)
    assert thread["starved"] > 0.3 * whole
    assert seconds_of(waits) in waited(thread, thread["starved"], thread["starved"])
    asleep = whole - thread["cpu"] - thread["starved"]
    assert seconds_of(blocked(samples)) in waited(thread, asleep, asleep)


@pytest.mark.truth
def test_threads_that_never_run_are_there(any_interpreter, scratch, out, oracle):
    truth, summary, profile = record(any_interpreter, scratch, out, oracle, "wall",
                                     *["idle"] * 20, "nap", seconds=2)
    spans = []
    for thread in truth["threads"][:20]:
        samples = [s for s in profile.samples if s.tid == thread["tid"]]
        assert samples and {f.func for f in samples[0].frames} >= {"idle"}
        assert len({(s.status, s.frames) for s in samples}) == 1
        spans.append(seconds_of(samples))
    # they sleep from before "ready" until the process ends: the same time, but for their starts
    assert min(spans) >= 2 - 1 / RATE and max(spans) <= summary["duration_s"] + 1 / RATE
    assert summary["switches"]["asleep"] >= 20
    assert os.path.getsize(profile.path) < 60000


@pytest.mark.truth
def test_exceptions_that_are_handled(any_interpreter, scratch, out, oracle):
    truth, summary, profile = record(any_interpreter, scratch, out, oracle, "exception", "handle",
                                     "nap", seconds=2)
    handles, nap = truth["threads"]
    assert profile.info["mode"] == 4
    assert profile.samples and all(s.status & HAS_EXCEPTION for s in profile.samples)
    samples = of_thread(profile, handles)
    sleeping = [s for s in samples if not s.status & ON_CPU]
    least = handles["inside"] - handles["busy"]
    assert seconds_of(sleeping) in waited(handles, least, handles["inside"], len(KINDS))
    running = seconds_of(samples) - seconds_of(sleeping)
    assert running in on_a_cpu(handles, handles["busy"], noise.missed(summary))
    assert not of_thread(profile, nap)
    assert {s.frames[0][:2] for s in samples} == {(SYNTHETIC, "<exception ValueError>")}


KERNEL = {"nap": "nanosleep", "read": "pipe_read", "poll": "poll", "lock": "futex"}


@pytest.mark.parametrize("mode", ("offcpu", "wall"))
def test_where_in_the_kernel_it_waits(python, scratch, out, oracle, mode):
    truth, _, profile = record(python, scratch, out, oracle, mode, *WAITS, seconds=2,
                               options=["--kernel"])
    for thread in truth["threads"]:
        samples = [s for s in blocked(of_thread(profile, thread))
                   if in_function([s], FUNCTIONS[thread["kind"]])]
        assert samples
        stacks = Counter()
        for sample in samples:
            names = [f.func for f in sample.frames if f.file == SYNTHETIC]
            assert names[0] == "<kernel schedule>" and "<kernel __schedule>" not in names
            stacks[any(KERNEL[thread["kind"]] in name for name in names)] += 1
        assert stacks[False] <= noise.few_bound(len(samples), 0.02), stacks


@pytest.mark.truth
def test_min_wait_leaves_out_short_ones(python, scratch, out, oracle):
    truth, _, profile = record(python, scratch, out, oracle, "offcpu", "nap", "poll", seconds=2,
                               options=["--min-wait", "55ms"])
    nap, poll = truth["threads"]
    seconds = seconds_of(in_function(of_thread(profile, nap), "wait_nap"))
    assert seconds in waited(nap, nap["off"] - nap["busy"] - nap["starved"], nap["off"], kinds=2)
    assert not in_function(of_thread(profile, poll), "wait_poll")


def test_cpython_converts_a_wall_capture(python, scratch, out, oracle):
    _, _, profile = record(python, scratch, out, oracle, "all", "nap", "compute", seconds=1)
    assert profile.info["mode"] == 3
    gecko = json.loads(Path(oracle.replay("gecko", profile.path)).read_text())
    markers = {gecko["shared"]["stringArray"][n] if "shared" in gecko else n
               for t in gecko["threads"] for n in t["markers"]["name"]}
    assert {"Has GIL", "On CPU", "Off CPU"} <= markers, markers


def test_cpu_mode_loads_no_scheduler_program(python, scratch, out, oracle):
    _, summary, profile = record(python, scratch, out, oracle, "cpu", "nap", seconds=1)
    assert "switches" not in summary and profile.info["mode"] == 1
    assert all(s.status & ON_CPU for s in profile.samples)
