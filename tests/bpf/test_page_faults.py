# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Page faults of a real kernel: whose they are, how many each one stands for, and moves of pages. The
program says which function has touched how many pages; the kernel counts its faults (getrusage)."""
import json
import mmap
import os
import subprocess
from pathlib import Path

import pytest

import noise
from processes import TIMEOUT, kill
from target import Target

PROGRAM = Path(os.environ["TACHBPF"]).parent / "tests" / "bpf" / "fault_program"
PAGE = mmap.PAGESIZE
DEFAULT, ALL = 16 * PAGE, PAGE
HUGE = PAGE * PAGE // 8
MIB = 1 << 20


class Toucher(Target):
    """targets/touch.py: an order, and its answer."""

    def __init__(self, interpreter, scratch):
        super().__init__(interpreter, scratch, program="touch.py")

    def __enter__(self):
        super().__enter__()
        self.codes = self.say("codes")
        self.codes.pop("faults")
        return self

    def say(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


class Faults:
    """fault_program: what the BPF side has sent of a process. Use as a context manager."""

    def __init__(self, every, target):
        self.codes = target.codes
        self.process = subprocess.Popen([PROGRAM, str(every), str(target.pid)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        self.answer()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(TIMEOUT)
        finally:
            kill(self.process)

    def answer(self):
        said = json.loads(self.process.stdout.readline())
        by_code = said["codes"]
        said["codes"] = {name: by_code[str(at)] for name, at in self.codes.items() if str(at) in by_code}
        return said

    def say(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self.answer()

    def watch(self, *names):
        """Count from now on, by these functions."""
        return self.say("watch", *(self.codes[name] for name in names))


@pytest.fixture
def target(scratch, python):
    with Toucher(python, scratch) as toucher:
        yield toucher


def bytes_of(said, name):
    return said["codes"][name][1]


def test_every_fault_is_there_if_each_is_wanted(target):
    """The program is slow, so that there is mostly budget for walks. What is not walked has no function."""
    with Faults(ALL, target) as faults:
        faults.watch(*(f"page_{i}" for i in range(10)))
        done = target.say("shares", 2 * 4096, 32)
        said = faults.say("sums")
    assert said["lost"] == said["foreign"] == 0
    missing = [done[name] * PAGE - bytes_of(said, name) for name in said["codes"]]
    assert min(missing) >= 0 and sum(missing) <= said["not_walked"] * PAGE, said
    assert said["bytes"] == said["records"] * PAGE
    # before and after the order the program has touched some pages, too
    assert 0 <= said["records"] - done["faults"] < 256


def test_faults_in_the_kernel_are_there(target):
    with Faults(ALL, target) as faults:
        faults.watch("reading")
        done = target.say("read", 4096)
        said = faults.say("sums")
    assert done["reading"] == 4096
    # reading() itself may touch a page of its own, as an object that it makes
    assert -said["not_walked"] <= bytes_of(said, "reading") / PAGE - 4096 < 8
    assert 4096 <= said["records"] < 4096 + 256


def test_shares_of_functions(target):
    with Faults(DEFAULT, target) as faults:
        names = [f"page_{i}" for i in range(10)]
        faults.watch(*names)
        done = target.say("shares", 100 * 4096, 4096)
        said = faults.say("sums")
    assert said["lost"] == said["foreign"] == 0
    total = sum(done[name] for name in names)
    samples = sum(cnt for cnt, _ in said["codes"].values())
    watched = sum(size for _, size in said["codes"].values())
    # the event of each CPU may be one period off at both ends
    ends = 2 * os.cpu_count() * 5 / 4
    sampled = noise.proportion_bound(total, 1 / 16)
    assert samples in noise.Bound(total * sampled.low * 4 / 5 - ends, total * sampled.high * 5 / 4 + ends)
    assert abs(watched / PAGE - total) < 16 * ends + total * 16 * (sampled.high - 1 / 16), said
    risk = noise.RISK / len(names)
    for name in names:
        # weights differ by their periods: at most 5 to 3 from each other
        bound = noise.proportion_bound(samples * 3 / 5, done[name] / total, risk)
        assert bytes_of(said, name) / watched in bound, (name, said)


@pytest.mark.parametrize("step", (16, 17, 43, 47, 48))
def test_no_program_keeps_step(target, step):
    """One of so many pages is touched by another function, for seconds. An event sees a program that is in
    step with it at one point until its period changes: so many times, at least, it was at a random point."""
    with Faults(DEFAULT, target) as faults:
        faults.watch("odd", "even")
        done = target.say("loop", step, 2000000)
        said = faults.say("sums")
    watched = bytes_of(said, "odd") + bytes_of(said, "even")
    points = watched / said["longest"]
    share = done["odd"] / (done["odd"] + done["even"])
    assert bytes_of(said, "odd") / watched in noise.proportion_bound(points, share), (points, said)
    print(f"step {step}: {bytes_of(said, 'odd') / watched:.4f} of {share:.4f}, {points:.0f} points")


def test_others_faults_are_not_sent(scratch, python, target):
    with Toucher(python, scratch) as other, Faults(ALL, target) as faults:
        before = faults.watch("odd")
        other.say("loop", 2, 4096)
        said = faults.say("sums")
    assert said["other"] - before["other"] >= 4096
    assert said["foreign"] == 0
    assert said["faults"] == said["other"] + said["sent"] + said["lost"]


def test_a_pause_has_no_faults(target):
    with Faults(ALL, target) as faults:
        faults.watch("odd", "even")
        before = faults.say("pause")
        target.say("loop", 2, 4096)
        said = faults.say("sums")       # before it goes on: the whole host's faults are counted
        assert said["faults"] == before["faults"]
        faults.say("resume")
        target.say("loop", 2, 4096)
        said = faults.say("sums")
    assert 4096 - said["not_walked"] <= sum(cnt for cnt, _ in said["codes"].values()) <= 4096
    assert 4096 <= said["records"] < 4096 + 256


@pytest.mark.parametrize("size, new", [
    (16 * PAGE, 64 * PAGE), (3 * HUGE, 4 * HUGE), (4 * HUGE, 8 * HUGE), (3 * HUGE, 5 * HUGE + PAGE),
    (HUGE + 5 * PAGE, 4 * HUGE + 100), (33 * PAGE, 2 * HUGE)])
def test_moves(target, size, new):
    with Faults(DEFAULT, target) as faults:
        faults.watch("odd")
        truth = [target.say("move", size, new) for _ in range(4)]
        said = faults.say("sums")
    wanted = [[t["from"], size, t["to"]] for t in truth if t["from"] != t["to"]]
    assert wanted, "nothing was moved"
    assert [m for m in said["moves"] if m[1] == size] == wanted
