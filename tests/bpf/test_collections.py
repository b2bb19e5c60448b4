# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--mode mem: the interpreter's own counters of collections, read at ticks, add up to what gc.get_stats()
says, for each generation, in every supported CPython; and how long collections take."""
import time

import pytest

import noise
from capture_program import Capture, cpu_s
from processes import TIMEOUT, kill
from target import Target

RATE = 999
CALLBACK_S = 50e-6      # calls around a collection, beside what it takes


def collections_of(answer, pid):
    return answer["processes"].get(str(pid), {}).get("collections", [[0] * 4] * 3)


def say_until(capture, true_of, what):
    end = time.monotonic() + TIMEOUT
    while True:
        answer = capture.say("sums")
        if true_of(answer):
            return answer
        assert time.monotonic() < end, what
        time.sleep(0.01)


def say_after(capture, pid, cpu):
    """The sums when the process, which computes, has used so much more CPU time."""
    until = cpu_s(pid) + cpu
    return say_until(capture, lambda _: cpu_s(pid) >= until, "the target gets no CPU")


@pytest.fixture
def collected(scratch):
    """(truth, sums, missed ticks) of an interpreter that is recorded while it collects."""
    def run(interpreter):
        with Target(interpreter, scratch, program="collected.py") as target, \
                Capture(RATE, "mem", target.pid) as capture:
            say_until(capture, lambda a: a["gc_done"], "no tick has seen the counters")
            target.go()
            truth = target.wait_done()
            answer = say_after(capture, target.pid, 0.1)
            return truth, collections_of(answer, target.pid), answer["missed"]
    return run


def test_sums_are_those_of_the_interpreter(collected, interpreter):
    truth, sums, _ = collected(interpreter)
    assert [s[:3] for s in sums] == truth["stats"]
    assert sum(s[0] for s in sums) == 32


def test_how_long_collections_take(collected, interpreter):
    """Ticks sample the time; 3.15's own clock measures it."""
    stolen = noise.stolen_s()
    truth, sums, missed = collected(interpreter)
    missed += RATE * (noise.stolen_s() - stolen)
    wall, cpu, runs = map(sum, zip(*truth["spent"]))
    taken = sum(s[3] for s in sums) / 1e6
    if interpreter.minor >= (3, 15):            # Py_DEBUG checks all objects before and after
        assert (0 if interpreter.debug else cpu - runs * CALLBACK_S) < taken <= wall
        return
    assert taken * RATE >= noise.count_bound(cpu, RATE, missed).low
    assert taken * RATE <= noise.count_bound(cpu + runs * CALLBACK_S, RATE, missed).high


def test_a_program_that_begins_in_the_recording(scratch, python):
    """Its first collections count, too: the interpreter makes some before its first line."""
    with Capture(RATE, "mem") as capture:       # all processes: the exec is seen
        with Target(python, scratch, program="collected.py") as target:
            target.go()
            truth = target.wait_done()
            sums = collections_of(say_after(capture, target.pid, 0.1), target.pid)
    want = [[a + b for a, b in zip(*both)] for both in zip(truth["stats"], truth["began_with"])]
    assert [s[:3] for s in sums] == want


def test_a_fork_does_not_have_its_parents_collections(scratch, python):
    with Target(python, scratch, program="forked_collections.py") as target, \
            Capture(RATE, "mem", target.pid) as capture:
        say_until(capture, lambda a: a["gc_done"], "no tick has seen the counters")
        target.go()
        truth = target.wait_done()
        try:
            answer = say_after(capture, truth["child"], 0.1)
            assert collections_of(answer, truth["child"])[2][:2] == [truth["child_runs"], 0]
            assert collections_of(answer, target.pid)[2][:2] == [truth["parent_runs"], 0]
        finally:
            kill(target.process)
