# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that Python did not start, and processes without the thread they began with."""
import json
import subprocess

import pytest

import noise
from per_interpreter import of_all, record_target
from present import covered
from profiles import HAS_GIL, MAIN_THREAD, ON_CPU, inside_python, outside_python
from recording import Recording, succeeded
from summary import files, lost

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

RATE = 999
FOREIGN_S = 1.5
CHILD_S = 0.6


class Run:
    """One process of an interpreter and what it says of itself."""

    def __init__(self, truth, summary, profile):
        self.truth, self.summary, self.profile = truth, summary, profile


class Samples(dict):
    """pid -> samples; and how many ticks of all there are no samples of."""
    away = 0


def has_foreign(interpreter):
    return interpreter.libc == "glibc"


def record_foreign(interpreter, scratch, oracle):
    return Run(*record_target(interpreter, scratch, oracle, RATE, "foreign", FOREIGN_S))


def record_children(interpreter, scratch, oracle):
    """pid -> samples, and which pid is which."""
    out = scratch / f"children-{interpreter.name}"
    pids = scratch / f"pids-{interpreter.name}"
    command = interpreter.command(scratch / "targets" / "children.py", pids, CHILD_S)
    argv = ["-r", RATE, "-o", out, "--split", "all", "--json", "--", *command]
    with Recording(argv) as recording:
        summary = succeeded(recording.wait()).summary
    found = files(summary)
    profiles = oracle.load(*[f["path"] for f in found])
    samples = Samples({f["pid"]: p.samples for f, p in zip(found, profiles)})
    samples.away = noise.missed(summary) + summary["lost_total"]
    return samples, json.loads(pids.read_text())


@pytest.fixture(scope="session")
def all_foreign(scratch, oracle):
    so = scratch / "targets" / "libforeign.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", so, so.with_suffix(".c")], check=True)
    return of_all(filter(has_foreign, covered("two")), record_foreign, scratch, oracle)


@pytest.fixture(scope="session")
def all_children(scratch, oracle):
    return of_all(covered("two"), record_children, scratch, oracle)


@pytest.fixture
def foreign(interpreter, all_foreign):
    if not has_foreign(interpreter):
        pytest.skip("libforeign.so is made for glibc")
    return all_foreign[interpreter.name].result()


@pytest.fixture
def children(interpreter, all_children):
    return all_children[interpreter.name].result()


def test_a_thread_of_c_has_a_stack_while_it_runs_python(foreign):
    phase = foreign.truth["phases"]["foreign"]
    tid, = set(phase["tids"])
    all_of_it = [s for s in foreign.profile.samples if s.tid == tid]
    mine = inside_python(all_of_it)
    home = foreign.truth.stack("from_c")
    assert len(home) == 1, "C began the thread"
    # two calls: what C burnt before, between and behind them has no stack of Python
    bound = noise.count_bound(2 * phase["each_s"], RATE, noise.missed(foreign.summary) +
                              foreign.summary["lost_total"])
    assert len(mine) in bound, (len(mine), str(bound))
    # and of what C burnt, all: before, between and behind the calls it has no thread state
    outside = [s for s in all_of_it if outside_python(s)]
    assert len(outside) in noise.count_bound(2 * phase["each_s"], RATE,
                                             noise.missed(foreign.summary)), len(outside)
    assert {s.status for s in outside} <= {ON_CPU, ON_CPU | HAS_GIL}
    # on top of it may be what notes the truth
    wrong = [s for s in mine if [(f.file, f.func) for f in s.frames][-1:] != home]
    assert not wrong, (len(wrong), wrong[:2])


def test_a_thread_that_runs_no_python_is_counted_as_such(foreign):
    phase = foreign.truth["phases"]["foreign"]
    ticks = foreign.summary["ticks"]
    # behind Python's two calls nothing; before and between them, and all of the other thread
    assert ticks["native_thread"] >= noise.least(3 * phase["each_s"], RATE,
                                                 noise.missed(foreign.summary))
    # a state may lie on a page that nobody has touched yet
    assert sum(lost(foreign.summary).values()) == lost(foreign.summary).get(
        "thread_state_unreadable", 0) <= 3, lost(foreign.summary)


def child(children, name):
    samples, pids = children
    if name not in pids:
        pytest.skip("a build without ctypes, which ends a main thread here")
    assert pids[name] in samples, f"{name}: no file of pid {pids[name]}, but of {list(samples)}"
    return pids[name], samples[pids[name]]


def test_a_child_forked_by_a_worker(children, interpreter):
    pid, samples = child(children, "forked")
    assert len(samples) >= noise.least(CHILD_S, RATE, children[0].away)
    assert {s.tid for s in samples} == {pid}
    burning = [s for s in samples if s.frames[0].func == "burn"]
    assert len(burning) >= noise.most_bound(len(samples), 0.9)
    assert all(s.frames[1].func == "forked" and s.frames[2].func == "worker" for s in burning)
    # CPython's own profiler (3.15) calls no thread of such a child its main one: the
    # interpreter has forgotten it. Up to 3.13 the runtime says it is the one that forked.
    is_main = interpreter.minor < (3, 14)
    assert all(bool(s.status & MAIN_THREAD) == is_main for s in burning[5:])


def test_a_process_whose_main_thread_has_ended(children):
    pid, samples = child(children, "leaderless")
    mine = [s for s in samples if any(f.func == "leaderless" for f in s.frames)]
    assert len(mine) >= noise.least(CHILD_S, RATE, children[0].away)
    assert pid not in {s.tid for s in mine}
    assert not any(s.status & MAIN_THREAD for s in mine)
