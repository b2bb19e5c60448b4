# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--fewer-reads: code objects of CPython up to 3.11 are read once in a window and confirmed
afterwards. What that costs at a process' end, and that no function gets the name of another one at
its address.

Windows begin when a process was sampled 1,024 times (bpf/pywindow.bpf.h).
"""
import collections
import json
import re

from recording import Recording, succeeded
from summary import tach_files

STEADY = """
import time
def leaf(until):
    while time.process_time() < until:
        for i in range(2000):
            i & 3
def chain(depth):
    scope = {"level_0": leaf}
    for i in range(1, depth):
        exec(compile("def level_%d(n):\\n return level_%d(n)\\n" % (i, i - 1), "steady.py", "exec"),
             scope)
    return scope["level_%d" % (depth - 1)]
chain(30)(time.process_time() + 2)
"""

# Two functions are made and freed in turn, at the same addresses where malloc likes it so. Who
# called says which one it is.
IN_TURN = """
import sys, time
SOURCE = "def twin_%s(until):\\n while now() < until:\\n  for i in range(300): i & 3\\n"
def run(which):
    scope = {"now": time.process_time}
    exec(compile(SOURCE % which, "twin_%s.py" % which, "exec"), scope)
    function = scope.pop("twin_" + which)
    seen.add(id(function.__code__))
    made[0] += 1
    return function
def call_a():
    run("a")(time.process_time() + 0.0015)
def call_b():
    run("b")(time.process_time() + 0.0015)
seen, made = set(), [0]
warm = time.process_time() + 1
while time.process_time() < warm:
    for i in range(2000): i & 3
end = time.process_time() + 2
while time.process_time() < end:
    call_a()
    call_b()
print(len(seen), made[0], file=open(sys.argv[1], "w"))
"""


def run(interpreter, out, *argv):
    """The row in session.json of a program's process, recorded at 10 kHz until it ends."""
    with Recording(["-r", "10khz", "--fewer-reads", "-o", out / "rec", "--", *interpreter.command(*argv)]) as rec:
        succeeded(rec.wait())
    row, = (p for p in json.loads((out / "rec/session.json").read_text())["processes"]
            if p["samples"])
    return row


def test_an_exit_costs_few_names(interpreter, out, oracle):
    row = run(interpreter, out, "-c", STEADY)
    profile, = oracle.load(*tach_files(out / "rec"))
    assert profile.replayed == row["samples"] >= 4 * 1024
    frames = sum(len(s.frames) for s in profile.samples)
    # A window is at most a 1,024th of the time; the stack that is sampled when it begins is read.
    assert row["unconfirmed"] <= frames / 1024 + 64, (row["unconfirmed"], frames)
    named = [s for s in profile.samples if s.frames and s.frames[0].func == "leaf"]
    assert len(named) >= 0.95 * len(profile.samples)
    whole = collections.Counter(len(s.frames) for s in named).most_common(1)[0][1]
    assert whole >= 0.99 * len(named)


def test_functions_made_in_turn_keep_their_names(interpreter, out, oracle):
    run(interpreter, out, "-c", IN_TURN, out / "truth")
    addresses, made = map(int, (out / "truth").read_text().split())
    assert made >= 100
    profile, = oracle.load(*tach_files(out / "rec"))
    pairs = [(inner.func, outer.func) for s in profile.samples
             for inner, outer in zip(s.frames, s.frames[1:])
             if outer.func in ("call_a", "call_b") and re.match("twin_", inner.func)]
    assert len(pairs) > 1000
    wrong = [p for p in pairs if p[0][-1] != p[1][-1]]
    assert not wrong, (len(wrong), len(pairs), addresses, made)
