# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The files of a recording of memory, read as the format's own text says; and after kill -9."""
import collections
import json
import os
import signal
import time

import pytest

from memory_runs import MIB, Rows, argv_of, environment
from mlyze_decode import Alloc, Marker, Trace
from processes import TIMEOUT
from recording import Recording, succeeded, tachbpf
from target import Target

EVERY = 64 * 1024
CLOCK_US = 5e6      # how far the time of day may be off here


def run(*argv):
    return succeeded(tachbpf(*argv)).stdout


@pytest.fixture
def grower(scratch, python):
    with Target(python, scratch, "growth=16", program="memory/run.py", name="books",
                env=environment(python)) as target:
        yield target


def wait_for(condition, what):
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def by_function(trace):
    sums = collections.Counter()
    for stack, size in trace.held().items():
        sums[trace.innermost(stack)] += size
    return sums


def check(trace, path):
    """What each file has, and that tachbpf's own reader adds up the same."""
    first, second, *_ = trace.events
    assert isinstance(first, Marker) and first.name.startswith("tachbpf recording mode=sampled every=65536 ")
    assert isinstance(second, Marker) and second.name.startswith("tachbpf process pid=")
    threads = {int(mark["n"]) for mark in trace.marks("thread")}
    assert threads and {event.thread for event in trace.of(Alloc)} <= threads
    rows, ours = Rows(path), by_function(trace)
    assert rows.total("held") == sum(ours.values())
    assert rows.total("touched") == sum(event.size for event in trace.of(Alloc))
    assert "valid" in run("mem", "--validate", path)


def test_the_file_of_a_process(grower, out):
    path, began = out / "x.mlyze", time.time() * 1e6
    with Recording([*argv_of(grower, path, EVERY), "--json"]) as recording:
        recording.wait_recording()
        grower.go()
        truth = grower.wait_done()
        summary = succeeded(recording.stop()).summary
        grower.leave()
    assert sorted(os.listdir(out)) == ["x.mlyze", "x.mlyze.json", "x.mlyze.sources.json"]
    trace = Trace(path)
    check(trace, path)
    assert abs(trace.start_us - began) < CLOCK_US + TIMEOUT * 1e6
    assert int(trace.marks("process")[0]["pid"]) == truth["pid"] == grower.pid
    assert trace.marks("end") == [{"exited": "0"}]
    assert int(trace.marks("check")[-1]["rss_anon"]) > 16 * MIB
    mine, = summary["processes"]
    assert mine["held_bytes"] == sum(trace.held().values())
    assert mine["touched_bytes"] == sum(event.size for event in trace.of(Alloc))
    assert json.loads((out / "x.mlyze.json").read_text())["processes"][0]["held_bytes"] == mine["held_bytes"]
    assert by_function(trace).most_common(1)[0][0] == "grower"
    assert "nothing to recover" in run("recover", path)


def safe(directory):
    """Bytes of events that are in the kernel."""
    return sum(p.stat().st_size for p in directory.glob("*.mlyze.events"))


def kill(recording):
    recording.process.send_signal(signal.SIGKILL)
    recording.process.wait(TIMEOUT)


@pytest.mark.parametrize("given", ["x.mlyze", "x.mlyze.events"])
def test_kill_9_of_a_file(grower, out, given):
    path = out / "x.mlyze"
    with Recording(argv_of(grower, path, EVERY)) as recording:
        recording.wait_recording()
        grower.go()
        grower.wait_done()
        wait_for(lambda: safe(out) > 2000, "nothing is flushed")
        live = tachbpf("recover", path)
        assert live.returncode == 1 and "still being recorded" in live.stderr
        assert "events recovered" in run("recover", path, "-o", out / "copy.mlyze")
        kill(recording)
        grower.leave()
    assert sorted(os.listdir(out)) == ["copy.mlyze", "x.mlyze.events", "x.mlyze.names"]
    again = tachbpf(*argv_of(grower, path, EVERY))
    assert again.returncode and "already exists" in again.stderr
    assert "events recovered" in run("recover", out / given)
    assert sorted(os.listdir(out)) == ["copy.mlyze", "x.mlyze"]
    for name in ("copy.mlyze", "x.mlyze"):
        trace = Trace(out / name)
        check(trace, out / name)
        assert trace.of(Alloc) and not trace.marks("end")


def test_kill_9_of_a_directory(grower, scratch, python, out):
    where = out / "rec"
    with Target(python, scratch, "growth=16", program="memory/run.py", name="second",
                env=environment(python)) as second, \
            Recording(["-m", "mem", "-p", f"{grower.pid},{second.pid}", "--every", EVERY, "-o",
                       where]) as recording:
        recording.wait_recording()
        for target in (grower, second):
            target.go()
        for target in (grower, second):
            target.wait_done()
        wait_for(lambda: len([p for p in where.glob("*.events") if p.stat().st_size > 2000]) == 2,
                 "nothing is flushed")
        kill(recording)
        grower.leave()
        second.leave()
    assert run("recover", where).count("events recovered") == 2
    names = os.listdir(where)
    assert {name.partition("-")[0] for name in names} == {str(grower.pid), str(second.pid)}
    for name in names:
        check(Trace(where / name), where / name)
    assert {f["path"] for f in Rows(where).said["files"]} == {str(where / name) for name in names}
