# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Stacks are never wrong: every sample of every behaviour against what the target noted itself.

All interpreters run all behaviours at once under one tachbpf at a high rate; see
targets/rehearse.py for how a target knows its stacks and docs/testing.md for what is right.
"""
import contextlib

import pytest

from e2e_fixtures import FOUND
from harness import Recording, Target, files, succeeded
from stacks import Known, Verdict

RATE = 9999
SECONDS = float(__import__("os").environ.get("TS", "0.2"))
MIN_POINTS = 1000
MAX_MARKED = 0.001
MIN_LEAF = 5

BEHAVIOURS = ("st_generators", "st_coroutines", "st_callbacks", "st_alternations", "st_recursion",
              "st_signals", "st_tracing", "st_dynamic", "st_exceptions", "st_finalizers",
              "st_threads", "st_names", "st_greenlets")


class Run:
    def __init__(self, finished, truths):
        self.summary, self.truths = finished.summary, truths
        self.verdicts = {}
        self.profiles = {}

    def file_of(self, name):
        pid = self.truths[name]["pid"]
        return next(f["path"] for f in files(self.summary) if f["pid"] == pid)


@pytest.fixture(scope="session")
def played(scratch):
    plan = [f"{name}={SECONDS}" for name in BEHAVIOURS]
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(Target(i, scratch, *plan, name="stacks")) for i in FOUND]
        pids = ",".join(str(t.pid) for t in targets)
        recording = stack.enter_context(
            Recording(["-p", pids, "-r", str(RATE), "-o", scratch / "stacks", "--json"]))
        recording.wait_recording()
        for target in targets:
            target.go()
        truths = {t.interpreter.name: t.wait_done(timeout=90) for t in targets}
        for target in targets:
            target.leave()
        finished = succeeded(recording.wait())
    return Run(finished, truths)


def verdict(played, interpreter, oracle, behaviour):
    name = interpreter.name
    if name not in played.profiles:
        played.profiles[name] = oracle.load(played.file_of(name))[0]
    phase = played.truths[name]["phases"][behaviour]
    if "skip" in phase:
        pytest.skip(phase["skip"])
    samples = played.profiles[name].between(*phase["window_us"])
    known = Known(phase["known"], columns=interpreter.minor >= (3, 11))
    return Verdict(samples, known), phase


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_no_stack_is_wrong(played, interpreter, oracle, behaviour):
    seen, phase = verdict(played, interpreter, oracle, behaviour)
    print(f"{interpreter.name} {behaviour}: {seen.points} points in {phase['turns']} turns, "
          f"{seen.wrong} wrong, {seen.marked} marked")
    print(seen.report(8))
    assert not seen.wrong, f"{seen.wrong} of {seen.points} wrong\n{seen.report()}"
    assert seen.marked <= MAX_MARKED * seen.points, seen.report()
    assert seen.points >= MIN_POINTS
    idle = [leaf for leaf in phase["leaves"] if seen.leaves[leaf] < MIN_LEAF]
    assert not idle or interpreter.minor < (3, 11), f"never seen at work: {idle}"
