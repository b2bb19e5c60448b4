# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A small truth, the same on a busy machine: of each way to keep frames a Python, its shares, names, lines and counts.

All of it for every interpreter is test_profile.py's. Bounds are noise.py's.
"""
import collections

import pytest

import accounting
import noise
from present import names_covered, need
from profiles import without_gc
from recording import Recording, succeeded
from summary import files, lost_once_known
from target import Target

# Turns of targets/shares.py last some milliseconds: many samples fall into each, which makes the
# shares less noisy than independent samples would be.
RATE, CPU_S = 9999, 1
FUNCTIONS = ("burn_sixty", "burn_thirty", "burn_ten")


class Run:
    def __init__(self, interpreter, options, scratch, oracle):
        path = scratch / f"small-{interpreter.name}{''.join(options)}.tach"
        stolen = noise.stolen_s()
        with Target(interpreter, scratch, f"shares={CPU_S}") as target, \
                Recording(["-p", target.pid, "-r", RATE, "-o", path, "--json",
                           "--no-sample-limit", *options]) as recording:   # a stall cuts no stack
            recording.wait_recording()
            target.go()
            self.truth = target.wait_done(600)
            self.account = noise.account(target.pid)
            target.leave()
            self.summary = succeeded(recording.wait()).summary
        profile, = oracle.load(files(self.summary)[0]["path"])
        self.missed = noise.missed(self.summary, noise.stolen_s() - stolen)
        self.samples = profile.phase(self.truth, "shares")
        self.leaves = [without_gc(s)[0] for s in self.samples if without_gc(s)]
        self.spent = self.truth["phases"]["shares"]["spent"]


# Memory is read directly where the kernel allows it, or by the kernel's helper.
RUNS = [*((name, "") for name in names_covered("few")), (names_covered("one")[0], "--no-direct-reads")]


@pytest.fixture(scope="module", params=RUNS, ids=[name + option for name, option in RUNS])
def run(request, scratch, oracle):
    name, option = request.param
    return Run(need(name), option.split(), scratch, oracle)


def test_shares(run):
    """Off by five points is more than chance does to 10,000 samples, except once in a million runs."""
    total = sum(run.spent.values())
    counts = collections.Counter(f.func for f in run.leaves)
    seen = sum(counts[name] for name in FUNCTIONS)
    missed = min(run.missed, max(0, total * RATE - seen))
    for name in FUNCTIONS:
        bound = noise.share_bound(seen, run.spent[name] / total, missed)
        print(f"{name}: {counts[name]} of {seen} samples, {bound} by the thread's own clock")
        assert counts[name] in bound, (name, counts[name], str(bound))


def test_as_many_samples_as_ticks_of_cpu_time(run):
    away = run.missed + run.summary["lost_total"]
    bound = noise.count_bound(sum(run.spent.values()), RATE, away, run.account.slices)
    seen = sum(f.func in FUNCTIONS for f in run.leaves)
    print(f"{seen} samples, {bound}")
    assert seen in bound
    assert not lost_once_known(run.summary)


def test_everything_is_accounted_for(run, oracle):
    accounting.check(run.summary)
    accounting.check_files(run.summary, oracle)


def test_stacks_have_the_right_names(run):
    """The whole stack, of each of the three functions."""
    for name in FUNCTIONS:
        want = run.truth.stack(name)
        mine = [s for s in run.samples if without_gc(s) and without_gc(s)[0].func == name]
        # the least share is a tenth
        assert len(mine) > 100
        wrong = [s for s in mine if [(f.file, f.func) for f in without_gc(s)] != want]
        assert not wrong, (len(wrong), len(mine), wrong[0])


def test_lines_and_columns(run):
    """Those that the code has; and time is where the loop is: two lines in each function."""
    known = {key: set(map(tuple, value)) for key, value in run.truth["positions"].items()}
    checked, wrong = 0, collections.Counter()
    for frame in (f for s in run.samples for f in set(s.frames)):
        positions = known.get(f"{frame.file}:{frame.func}")
        if positions is not None:
            checked += 1
            wrong[frame] += (frame.line, frame.end_line, frame.col, frame.end_col) not in positions
    assert checked > len(run.samples)
    assert not +wrong, (+wrong).most_common(3)
    for name in FUNCTIONS:
        file, _ = run.truth.stack(name)[0]
        with open(file, encoding="utf-8") as f:
            source = f.read().splitlines()
        start = source.index(f"def {name}(n):")
        loop = next(i for i, text in enumerate(source[start:], start + 1) if "for " in text)
        mine = [f.line for f in run.leaves if f.func == name]
        # besides it a function has three lines that run once, of hundreds of thousands of turns
        strays = sum(line not in (loop, loop + 1) for line in mine)
        assert strays <= noise.few_bound(len(mine), 0.001), collections.Counter(mine)
        assert {loop, loop + 1} <= set(mine)
