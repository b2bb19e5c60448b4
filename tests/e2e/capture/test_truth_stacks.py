# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Stacks are never wrong: every sample of every behaviour against what the target noted itself.

Some interpreters at a time play all behaviours under one tachbpf at a high rate; see
targets/rehearse.py for how a target knows its stacks and docs/testing.md for what is right.
"""
import contextlib
import json

import pytest

import greenlets
import noise
from grouping import each_worker
from present import covered
from processes import TIMEOUT
from recording import Recording, succeeded, tachbpf
from stacks import Known, Verdict
from summary import files
from target import Target

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

RATE = 9999
SECONDS = 0.2           # of CPU, for each behaviour
# Threads that start and end are not Python's for a good part of their time.
MORE_SECONDS = {"st_threads": 0.6, "st_switches": 0.5}
MIN_POINTS = 1000
FEW_POINTS = noise.samples_needed(0.05)     # show what is wrong in one of twenty, for certain
AT_ONCE = 6             # more make each other's names and samples late
MIN_LEAF = 5
MAX_UNREADABLE = 0.001
MAX_SWITCHING = 0.005   # of a program that does nothing but switch greenlets

BEHAVIOURS = ("st_generators", "st_coroutines", "st_callbacks", "st_alternations", "st_recursion",
              "st_signals", "st_tracing", "st_dynamic", "st_exceptions", "st_finalizers",
              "st_threads", "st_names", "st_greenlets")
SWITCHES = "st_switches"


class Played:
    """The recordings of all targets, what they noted, and what the oracle says of them."""

    def __init__(self, truths, paths, oracle):
        self.truths, self.paths, self.oracle = truths, paths, oracle
        self.verdicts = {}

    def file_of(self, interpreter):
        return self.paths[self.truths[interpreter.name]["pid"]]

    def judged(self, interpreter):
        """behaviour -> Verdict, of those that could be played."""
        name = interpreter.name
        if name not in self.verdicts:
            profile = self.oracle.load(self.file_of(interpreter))[0]
            columns = interpreter.minor >= (3, 11)
            self.verdicts[name] = {
                behaviour: Verdict(profile.between(*phase["window_us"]),
                                   Known(phase["known"], columns))
                for behaviour, phase in self.truths[name]["phases"].items()
                if "skip" not in phase}
        return self.verdicts[name]

    def phase(self, interpreter, behaviour):
        phase = self.truths[interpreter.name]["phases"][behaviour]
        if "skip" in phase:
            pytest.skip(f"{interpreter.name}: {phase['skip']}")
        return phase


def play(interpreters, scratch, out, behaviours=BEHAVIOURS):
    """One recording. Interpreter name -> its truth, and pid -> file."""
    plan = [f"{name}={MORE_SECONDS.get(name, SECONDS)}" for name in behaviours]
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(Target(i, scratch, *plan, name="stacks"))
                   for i in interpreters]
        pids = ",".join(str(t.pid) for t in targets)
        recording = stack.enter_context(
            Recording(["-p", pids, "-r", str(RATE), "-o", out, "--json",
                       "--no-sample-limit"]))       # a stall of the machine cuts no stack
        recording.wait_recording()
        for target in targets:
            target.go()
        truths = {t.interpreter.name: t.wait_done(timeout=TIMEOUT) for t in targets}
        for target in targets:
            target.leave()
        summary = succeeded(recording.wait()).summary
    for target in targets:
        if all("skip" in phase for phase in truths[target.interpreter.name]["phases"].values()):
            continue
        rows = [f for f in files(summary) if f["pid"] == target.pid]
        assert len(rows) == 1 and rows[0]["samples"] >= FEW_POINTS, (
            target.interpreter.name, rows, summary["lost"], summary["ticks"])
    return truths, {f["pid"]: f["path"] for f in files(summary)}


def play_all(players, scratch, oracle, name, behaviours):
    truths, paths = {}, {}
    for i in range(0, len(players), AT_ONCE):
        some = play(players[i:i + AT_ONCE], scratch, scratch / f"{name}-{i}", behaviours)
        truths.update(some[0])
        paths.update(some[1])
    return Played(truths, paths, oracle)


@each_worker
def greenlet_modules(scratch):
    """What targets import: copied once, though one worker may make both recordings."""
    greenlets.provide(scratch)


@pytest.fixture(scope="session")
def played(scratch, greenlet_modules, oracle):
    return play_all(covered("two"), scratch, oracle, "stacks", BEHAVIOURS)


@pytest.fixture(scope="session")
def switched(scratch, greenlet_modules, oracle):
    return play_all(covered("few"), scratch, oracle, "switches", [SWITCHES])


def last_name(leaf, interpreter):
    """Up to 3.10 a code object has no qualified name."""
    return leaf if interpreter.minor >= (3, 11) else leaf.rpartition(".")[2]


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_no_stack_is_wrong(played, interpreter, behaviour):
    played.phase(interpreter, behaviour)
    seen = played.judged(interpreter)[behaviour]
    assert not seen.wrong, f"{seen.wrong} of {seen.points} wrong\n{seen.report()}"
    assert seen.points >= FEW_POINTS
    assert not seen.cut, seen.report()


@pytest.mark.truth
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_every_function_is_seen_at_work(played, interpreter, behaviour):
    """Of 1,000 points and more nothing is wrong, and no function is missing among them."""
    phase = played.phase(interpreter, behaviour)
    seen = played.judged(interpreter)[behaviour]
    assert not seen.wrong and seen.points >= MIN_POINTS
    idle = [leaf for leaf in phase["leaves"]
            if seen.leaves[last_name(leaf, interpreter)] < MIN_LEAF]
    assert not idle, f"never seen at work: {idle}"


def test_unreadable_stacks_are_rare(played, interpreter, capsys):
    judged = played.judged(interpreter)
    points = sum(v.points for v in judged.values())
    wrong = sum(v.wrong for v in judged.values())
    unreadable = sum(v.unreadable for v in judged.values())
    with capsys.disabled():
        print(f"\n{interpreter.name}: {points} points of {len(judged)} behaviours, {wrong} wrong, "
              f"{unreadable} unreadable, {sum(v.cut for v in judged.values())} cut")
    assert points >= FEW_POINTS * len(judged)
    assert unreadable <= noise.few_bound(points, MAX_UNREADABLE), {n: v.unreadable for n, v in judged.items() if v.unreadable}


@pytest.mark.interpreters("few")
def test_switches_of_greenlets(switched, interpreter, capsys):
    """Whole stacks also in the middle of a switch: as they are before it, or after it."""
    switched.phase(interpreter, SWITCHES)
    seen = switched.judged(interpreter)[SWITCHES]
    with capsys.disabled():
        print(f"\n{interpreter.name}: {seen.points} points, {seen.wrong} wrong, {seen.cut} cut, "
              f"{seen.unreadable} unreadable")
    assert seen.points >= FEW_POINTS
    assert not seen.wrong and not seen.cut, seen.report()
    assert seen.unreadable <= noise.few_bound(seen.points, MAX_SWITCHING), seen.report()


@pytest.mark.parametrize("fmt", ["collapsed", "speedscope", "gecko", "jsonl", "csv", "pprof"])
def test_odd_names_are_whole_in_every_format(played, interpreter, out, fmt):
    path = out / "converted"
    succeeded(tachbpf("replay", played.file_of(interpreter), "--format", fmt, "-o", path))
    if fmt == "pprof":
        assert path.stat().st_size
        return
    text = path.read_text(encoding="utf-8")         # strictly
    assert "\ud8ff" not in text and "\udcff" not in text
    if fmt in ("speedscope", "gecko"):
        json.loads(text)
    elif fmt == "jsonl":
        for line in text.splitlines():
            json.loads(line)
    for name in ("na\u00efve", "\u540d\u524d", "\U0002123d\U00020089", "long_xxxx"):
        assert name in text or json.dumps(name)[1:-1] in text, name
