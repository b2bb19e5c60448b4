# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that Python did not start, and processes without the thread they began with."""
import subprocess

import pytest

from e2e_fixtures import absent
from harness import MAIN_THREAD, Recording, Target, files, lost, succeeded

RATE = 999
FOREIGN_S = 1.5
CHILDREN_S = 1.0


class Run:
    def __init__(self, truth, summary, profiles):
        self.truth, self.summary, self.profiles = truth, summary, profiles


@pytest.fixture(scope="module")
def runs():
    return {}


@pytest.fixture
def run(interpreter, runs, scratch, oracle):
    """One process of each interpreter that does both, and its children."""
    if interpreter.libc != "glibc":
        pytest.skip("libforeign.so is made for glibc")
    if interpreter.name not in runs:
        so = scratch / "targets" / "libforeign.so"
        if not so.exists():
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", so,
                            so.with_suffix(".c")], check=True)
        out = scratch / f"threads-{interpreter.name}"
        plan = f"foreign={FOREIGN_S}", f"children={CHILDREN_S}"
        with Target(interpreter, scratch, *plan) as target, \
                Recording(["-p", target.pid, "-r", RATE, "-o", out, "--json"]) as recording:
            recording.wait_recording()
            target.go()
            truth = target.wait_done()
            target.leave()
            summary = succeeded(recording.wait()).summary
        pids = [f["pid"] for f in files(summary)]
        profiles = oracle.load(*[f["path"] for f in files(summary)])
        runs[interpreter.name] = Run(truth, summary, dict(zip(pids, profiles)))
    return runs[interpreter.name]


def test_a_thread_of_c_has_a_stack_while_it_runs_python(run):
    phase = run.truth["phases"]["foreign"]
    profile = run.profiles[run.truth["pid"]]
    tid, = set(phase["tids"])
    mine = [s for s in profile.samples if s.tid == tid]
    home = run.truth.stack("from_c")
    assert len(home) == 1, "C began the thread"
    # two calls; nothing of what C burnt before, between and behind them
    assert abs(len(mine) - 2 * phase["each_s"] * RATE) <= 0.1 * 2 * phase["each_s"] * RATE
    assert all([(f.file, f.func) for f in s.frames] == home for s in mine)


def test_a_thread_that_runs_no_python_is_counted_as_such(run):
    phase = run.truth["phases"]["foreign"]
    ticks = run.summary["ticks"]
    # behind Python's two calls nothing; before and between them, and all of the other thread
    assert ticks["native_thread"] >= 0.9 * 3 * phase["each_s"] * RATE
    assert not lost(run.summary)


def child(run, name):
    pid = run.truth["phases"]["children"]["pids"][name]
    if pid not in run.profiles:
        absent(f"{name}: no file of pid {pid}")
    return pid, run.profiles[pid].samples


def test_a_child_forked_by_a_worker(run, interpreter):
    pid, samples = child(run, "forked")
    expected = run.truth["phases"]["children"]["each_s"] * RATE
    assert len(samples) >= 0.9 * expected
    assert {s.tid for s in samples} == {pid}
    burning = [s for s in samples if s.frames[0].func == "burn"]
    assert len(burning) >= 0.9 * len(samples)
    assert all(s.frames[1].func == "forked" and s.frames[2].func == "worker" for s in burning)
    # CPython's own profiler (3.15) calls no thread of such a child its main one: the
    # interpreter has forgotten it. Up to 3.13 the runtime says it is the one that forked.
    is_main = interpreter.minor < (3, 14)
    assert all(bool(s.status & MAIN_THREAD) == is_main for s in burning[5:])


def test_a_process_whose_main_thread_has_ended(run):
    pid, samples = child(run, "leaderless")
    expected = run.truth["phases"]["children"]["each_s"] * RATE
    mine = [s for s in samples if any(f.func == "leaderless" for f in s.frames)]
    assert len(mine) >= 0.9 * expected
    assert pid not in {s.tid for s in mine}
    assert not any(s.status & MAIN_THREAD for s in mine)
