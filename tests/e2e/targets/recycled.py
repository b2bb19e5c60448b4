# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Code objects made, run once and freed in a loop, so that their addresses are used again.

Number i lives in file remade_i.py as function remade_i, whose loop is in line
3 + i % 40: a profile that mixes up two of them shows it. Most live about a
millisecond, every 32nd a good deal longer; those say how long. A slow build
turns fewer times.
"""
import time

from truth import tick

TEMPLATE = "%s\ndef remade_%d():\n for i in range(%d): i & 3\n"


SHORT, LONG = 30000, 2500000        # turns, where one takes no more than 30 ns
long_lived = {}


def slowness():
    """How many times longer a turn takes here, at least 1."""
    start = time.thread_time()
    for i in range(200000):
        i & 3
    return max(1, (time.thread_time() - start) / 200000 / 30e-9)


def remake(i, slower):
    is_long = i % 32 == 31
    turns = int((LONG if is_long else SHORT) / slower)
    scope = {}
    exec(compile(TEMPLATE % ("\n" * (i % 40), i, turns), "remade_%d.py" % i, "exec"), scope)
    start = time.thread_time()
    scope.pop("remade_%d" % i)()
    if is_long:
        long_lived[i] = time.thread_time() - start


def run(seconds):
    slower = slowness()
    end = time.process_time() + seconds
    i = 0
    while time.process_time() < end:
        tick()
        remake(i, slower)
        i += 1
    return {"made": i, "long_lived": long_lived}
