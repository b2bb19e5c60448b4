# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Stacks of C and Python are never wrong: each sample of a leaf at work against its chain.

targets/chains plays chains of functions that make machine code's unwinding hard, and notes when
each leaf worked; lib/chains.py says what the stack of that time is.
"""
import contextlib
import time

import pytest

import chains
import native_frames
import noise
from present import covered
from processes import TIMEOUT, family, stat_of
from recording import Recording, succeeded
from summary import files
from target import Target

pytestmark = pytest.mark.interpreters("few")      # the others in check-all

RATE = 9999
NUMBER = 100            # chains; each is played twice: meanwhile tables are built
WORK_MS = 3             # of CPU, of each leaf
AT_ONCE = 3             # more make each other's names and samples late
FEW_POINTS = noise.samples_needed(0.01)
MIN_POINTS = 1000
MAX_CUT = 0.05
MODES = {"full": "--native=full", "folded": "--native"}
# Debian's musl is built without call frame information: links that call through it.
UNTOLD = {"musl": chains.SIGNALS + "kqQt"}
EVAL = "_PyEval_EvalFrameDefault"


def wait_for_tables(pid):
    """Until the recorder's helper has built the tables that the samples so far have asked for: it
    sleeps whenever it is looked at. It has a low priority: on a busy machine it takes long."""
    end, asleep = time.monotonic() + TIMEOUT, 0
    while asleep < 20:
        assert time.monotonic() < end, "tables are not ready"
        states = [stat.rpartition(")")[2].split()[0] for stat in map(stat_of, family(pid))
                  if "(tachbpf-tables)" in stat]
        asleep = asleep + 1 if states == ["S"] else 0
        time.sleep(0.1)


def record(interpreters, scratch, out, option, played, work_ms=WORK_MS, more=()):
    """One recording. Interpreter name -> its truth, and pid -> file. Tables are ready in the second
    half of what is played."""
    half = len(played) // 2
    played = [*played[:half], "half", *played[half:]]
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(Target(
            i, scratch, chains.build(i, scratch), work_ms, *played, name="chains",
            program="chains/play_chains.py")) for i in interpreters]
        pids = ",".join(str(t.pid) for t in targets)
        recording = stack.enter_context(
            Recording(["-p", pids, "-r", str(RATE), "-o", out, "--json", "--no-sample-limit",
                       option, *more]))        # a stall of the machine cuts no stack
        recording.wait_recording()
        for target in targets:
            target.go()
        for target in targets:
            target.expect("half", TIMEOUT)
        wait_for_tables(recording.process.pid)
        for target in targets:
            target.go()
        truths = {t.interpreter.name: t.wait_done(timeout=TIMEOUT) for t in targets}
        for target in targets:
            target.leave()
        summary = succeeded(recording.wait()).summary
    return truths, {f["pid"]: f["path"] for f in files(summary)}


class Played:
    """Recordings of all interpreters, and what is said of them."""

    def __init__(self, scratch, oracle, mode):
        self.oracle, self.full = oracle, mode == "full"
        self.truths, self.paths, self.known = {}, {}, {}
        interpreters, played = covered(), 2 * chains.chains(NUMBER)
        for i in range(0, len(interpreters), AT_ONCE):
            truths, paths = record(interpreters[i:i + AT_ONCE], scratch,
                                   scratch / f"chains-{mode}-{i}", MODES[mode], played)
            self.truths.update(truths)
            self.paths.update(paths)

    def profile(self, interpreter):
        if interpreter.name not in self.known:
            path = self.paths[self.truths[interpreter.name]["pid"]]
            self.known[interpreter.name], = self.oracle.load(path)
        return self.known[interpreter.name]

    def judged(self, interpreter, second_half=False, without=""):
        truth = self.truths[interpreter.name]
        half = len(truth["played"]) // 2 if second_half else 0
        played = [p for p in truth["played"][half:] if not set(without) & set(p["chain"])]
        return chains.Judged(self.profile(interpreter), dict(truth, played=played), self.full)


@pytest.fixture(scope="session")
def plays():
    return {}


@pytest.fixture(params=MODES)
def played(request, plays, scratch, oracle):
    if request.param not in plays:
        plays[request.param] = Played(scratch, oracle, request.param)
    return plays[request.param]


def test_no_stack_is_wrong(played, interpreter, capsys):
    seen = played.judged(interpreter)
    with capsys.disabled():
        print(f"\n{interpreter.name}: {seen.points} points, {seen.wrong} wrong, "
              f"{seen.cut} cut: {dict(seen.cut_by)}")
    assert not seen.wrong, seen.report()
    assert seen.points >= FEW_POINTS, seen.report()


def skip_outermost_of_musl(played, interpreter):
    if played.full and interpreter.libc in UNTOLD:
        pytest.skip("no stack begins in code with call frame information")


@pytest.mark.truth
def test_of_a_thousand_none_is_wrong(played, interpreter):
    seen = played.judged(interpreter)
    assert seen.points >= MIN_POINTS and not seen.wrong and not seen.unnamed, seen.report()


def test_nearly_all_are_whole(played, interpreter):
    """As soon as the tables are there, which are built in the first half."""
    skip_outermost_of_musl(played, interpreter)
    seen = played.judged(interpreter, second_half=True,
                         without=UNTOLD.get(interpreter.libc, ""))
    assert seen.points and seen.cut < MAX_CUT * seen.points, seen.report()


def test_every_link_is_seen(played, interpreter):
    """Alone, that is: if not, this one is not unwound at all."""
    skip_outermost_of_musl(played, interpreter)
    seen = played.judged(interpreter, second_half=True,
                         without=UNTOLD.get(interpreter.libc, ""))
    alone = {chain: verdicts for chain, verdicts in seen.verdict_of.items() if len(chain) == 2}
    assert len(alone) >= 17
    never = [chain for chain, verdicts in alone.items() if not verdicts[chains.RIGHT]]
    assert not never, (never, seen.report())


def test_the_interpreters_loop_is_folded(played, interpreter):
    """But where its file's table is not there yet, and so nothing is known of its functions."""
    if played.full:
        pytest.skip("it is shown")
    shown = [s.frames for s in played.profile(interpreter).samples
             if not set(native_frames.causes(s)) & set(native_frames.NOT_YET)
             and any(map(native_frames.is_python, s.frames)) and any(n.startswith(EVAL) for n in native_frames.natives(s))]
    assert not shown, (len(shown), "\n".join(f"{f.func} {f.file}" for f in shown[0]))


def test_code_without_a_table_ends_the_stack_honestly(interpreter, scratch, out, oracle):
    """Inside of it all is there, and all of Python is."""
    chain = "vpaz0pr."
    truths, paths = record([interpreter], scratch, out / "rec", "--native=full", 40 * [chain])
    profile, = oracle.load(*paths.values())
    truth = truths[interpreter.name]
    seen = chains.Judged(profile, dict(truth, played=truth["played"][20:]), full=True)
    assert seen.points and not seen.wrong, seen.report()
    assert seen.cut_by["no unwind table"] > 0.95 * seen.points, seen.report()


def test_a_deep_stack(python, scratch, out, oracle):
    """Two hundred C functions are there (test_deep_stacks has deeper ones)."""
    truths, paths = record([python], scratch, out / "rec", "--native=full", 40 * ["p" + 200 * "r" + "."])
    profile, = oracle.load(*paths.values())
    truth = truths[python.name]
    seen = chains.Judged(profile, dict(truth, played=truth["played"][20:]), full=True)
    assert seen.points and not seen.wrong, seen.report()
    assert seen.verdicts[chains.RIGHT] > 0.95 * seen.points, seen.report()
