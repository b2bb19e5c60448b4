# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Recordings that are killed, and files written by us: CPython 3.15 reads what comes out."""
import collections
import json
import os
import signal
import time

import pytest

from captures import GOLDEN
from processes import TIMEOUT
from recording import Recording, succeeded, tachbpf
from target import Target

FLUSH_S = 1


def run(*argv):
    return succeeded(tachbpf(*argv)).stdout


def journals(directory):
    return sorted(p.name for p in directory.glob(".*.journal"))


@pytest.fixture
def busy(scratch, python):
    with Target(python, scratch, "shares=600") as target:
        target.go()
        yield target


def wait_for(condition, what, timeout=TIMEOUT):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def now_us():
    return time.monotonic_ns() // 1000


def flushed(directory):
    """Bytes of samples that are safe: a file has a header of 64 and a frame for each flush."""
    return min((p.stat().st_size - 64 for p in directory.glob("*.tach")), default=0)


# How late a flush may be is check-truth's: what is judged here is what it leaves.
@pytest.mark.parametrize("in_time", [False, pytest.param(True, marks=pytest.mark.truth)])
def test_kill_9_costs_what_was_not_flushed(busy, out, oracle, in_time):
    path = out / "x.tach"
    with Recording(["-p", busy.pid, "-o", path]) as recording:
        recording.wait_recording()
        time.sleep(3.5)
        wait_for(lambda: flushed(out) > 0, "nothing is flushed")
        killed = now_us()
        recording.process.send_signal(signal.SIGKILL)
        recording.process.wait(30)
    assert journals(out) == [".x.tach.journal"]
    assert tachbpf("info", path).returncode == 1
    assert "samples recovered" in run("recover", path)
    assert os.listdir(out) == ["x.tach"]
    assert "checksum right" in run("info", "--verify", path)
    profile, = oracle.load(path)
    assert profile.info["sample_count"] == profile.replayed == len(profile.samples)
    last = max(s.time_us for s in profile.samples)
    # housekeeping is due every second; a loaded machine gets another one
    assert not in_time or last >= killed - 2 * FLUSH_S * 1e6
    assert any("burn_sixty" == f.func for s in profile.samples for f in s.frames)


def test_kill_9_of_a_directory(busy, scratch, python, out, oracle):
    where = out / "rec"
    with Target(python, scratch, "shares=600", name="second") as second:
        second.go()
        with Recording(["-p", f"{busy.pid},{second.pid}", "-o", where]) as recording:
            recording.wait_recording()
            wait_for(lambda: len(journals(where)) == 2, "two files")
            time.sleep(2.5)
            wait_for(lambda: flushed(where) > 0, "nothing is flushed")
            # while it goes on: a copy, and no touching of the file itself
            live, = where.glob(f"{busy.pid}-*.tach")
            run("recover", live, "-o", out / "copy.tach")
            refused = tachbpf("recover", where)
            assert refused.returncode == 1 and "still being recorded" in refused.stderr
            recording.process.send_signal(signal.SIGKILL)
            recording.process.wait(30)
    assert not (where / "session.json").exists() and len(journals(where)) == 2
    run("recover", where)
    assert not journals(where)
    profiles = oracle.load(out / "copy.tach", *sorted(where.glob("*.tach")))
    assert len(profiles) == 3
    for profile in profiles:
        assert profile.samples
    report = json.loads(run("report", "--json", "--by", "process", where))
    assert {r["pid"] for r in report["rows"]} == {busy.pid, second.pid}


def test_a_finished_recording_leaves_no_journal(busy, out, oracle):
    with Recording(["-p", busy.pid, "-o", out / "x.tach"]) as recording:
        recording.wait_recording()
        wait_for(lambda: journals(out), "a journal")
        time.sleep(0.5)
        succeeded(recording.stop())
    assert sorted(os.listdir(out)) == ["x.tach", "x.tach.json", "x.tach.sources.json"]
    assert "checksum right" in run("info", "--verify", out / "x.tach")
    oracle.load(out / "x.tach")


# ---- what the commands write ----

def by_thread(profile):
    """Every thread's samples in order, frames by what they are."""
    threads = collections.defaultdict(list)
    for s in profile.samples:
        threads[s.tid, s.interp].append((s.time_us, s.status, s.frames))
    return {key: sorted(v) for key, v in threads.items()}


@pytest.mark.parametrize("name", ["cpu_raw", "wall_zstd", "deep400", "native_opcodes"])
def test_cpython_reads_what_is_written(out, oracle, name):
    original = GOLDEN / f"{name}.bin"
    run("convert", original, "-o", out / "convert.tach")
    run("split", original, "--by", "thread", "-o", out / "threads")
    run("split", original, "--by", "time", "--every", "0.1", "-o", out / "times")
    run("merge", out / "threads", "-o", out / "threads.tach", "--compression", "none")
    run("merge", out / "times", "-o", out / "times.tach")
    (out / "original.bin").write_bytes(original.read_bytes())
    (out / "cut.tach").write_bytes(original.read_bytes()[:-33])
    run("recover", out / "cut.tach")
    first, *others = oracle.load(out / "original.bin", out / "convert.tach", out / "threads.tach",
                                 out / "times.tach", out / "cut.tach")
    for other in others:
        assert by_thread(other) == by_thread(first), other.path
    pieces = oracle.load(*sorted((out / "times").glob("*.tach")))
    assert sum(len(p.samples) for p in pieces) == len(first.samples)
    together = collections.defaultdict(list)
    for piece in pieces:
        for key, samples in by_thread(piece).items():
            together[key] += samples
    assert {k: sorted(v) for k, v in together.items()} == by_thread(first)
