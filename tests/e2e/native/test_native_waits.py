# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where in C does a thread that waits do so? Its C functions stand above its Python functions."""
import collections

import pytest

import chains
import native_frames
from native_frames import KERNEL
from processes import TIMEOUT
from recording import Recording, succeeded
from summary import files
from target import Target

pytestmark = pytest.mark.interpreters("few")

RATE, WORK_MS, TIMES = 1999, 20, 12
# The leaf that sleeps, and the one that waits for a lock of another thread.
WAITING = ("pvAp_", "0pfnl", "Q_", "spg_", "ctpl")


def record(interpreter, scratch, out, oracle, mode, played):
    with Target(interpreter, scratch, chains.build(interpreter, scratch), WORK_MS, *played,
                name="waits", program="chains/play_chains.py") as target, \
            Recording(["-p", target.pid, "-m", mode, "--native=full", "-r", RATE, "-o",
                       out / "rec", "--json"]) as recording:
        recording.wait_recording()
        target.go()
        truth = target.wait_done(timeout=TIMEOUT)
        target.leave()
        summary = succeeded(recording.wait()).summary
    path, = (f["path"] for f in files(summary) if f["pid"] == truth["pid"])
    # Tables are built during the first half.
    return oracle.load(path)[0], dict(truth, played=truth["played"][len(truth["played"]) // 2:])


@pytest.mark.parametrize("mode", ["offcpu", "wall"])
def test_a_wait_has_its_c_functions(interpreter, scratch, out, oracle, mode):
    told = interpreter.libc == "glibc"      # musl is built without call frame information
    waiting = [c for c in WAITING if told or not set(c) & set("csx")]
    profile, truth = record(interpreter, scratch, out, oracle, mode, TIMES * waiting)
    seen = chains.Judged(profile, truth, full=True)
    assert not seen.wrong, seen.report()
    assert all(seen.verdict_of[c][chains.RIGHT if told else chains.CUT] for c in waiting), seen.report()
    assert not told or seen.cut <= 0.05 * seen.points, seen.report()
    blocked = {chain.chain for chain in chains.played(truth) for s in chain.of(profile)
               if s.frames[0].func.startswith("<")}
    assert blocked == set(waiting)


def test_the_kernels_functions_are_innermost(python, scratch, out, oracle):
    """Kernel's, then C's, then Python's."""
    profile, truth = record(python, scratch, out, oracle, "offcpu", TIMES * ["pvp_"])
    orders = collections.Counter()
    for chain in chains.played(truth):
        for sample in chain.of(profile):
            kinds = [native_frames.kind(f) for f in sample.frames]
            last_kernel = max((i for i, k in enumerate(kinds) if k == KERNEL), default=None)
            if last_kernel is not None:
                orders[all(k not in (native_frames.NATIVE, native_frames.PYTHON)
                           for k in kinds[:last_kernel])] += 1
    assert orders[True] and not orders[False], orders


def test_who_holds_the_gil_has_c_functions(python, scratch, out, oracle):
    profile, truth = record(python, scratch, out, oracle, "gil", TIMES * ["pvAn.", "pSf."])
    seen = chains.Judged(profile, truth, full=True)
    assert seen.points > 100 and not seen.wrong, seen.report()
    assert seen.cut <= 0.05 * seen.points, seen.report()
