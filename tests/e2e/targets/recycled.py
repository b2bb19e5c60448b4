# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Code objects made, run once and freed in a loop, so that their addresses are used again.

Number i lives in file remade_i.py as function remade_i, whose loop is in line
3 + i % 40: a profile that mixes up two of them shows it. Most live about a
millisecond, every 32nd a good deal longer; those say how long.
"""
import time

from truth import tick

TEMPLATE = "%s\ndef remade_%d():\n for i in range(%d): i & 3\n"


long_lived = {}


def remake(i):
    turns = 2500000 if i % 32 == 31 else 30000
    scope = {}
    exec(compile(TEMPLATE % ("\n" * (i % 40), i, turns), "remade_%d.py" % i, "exec"), scope)
    start = time.thread_time()
    scope.pop("remade_%d" % i)()
    if turns > 30000:
        long_lived[i] = time.thread_time() - start


def run(seconds):
    end = time.process_time() + seconds
    i = 0
    while time.process_time() < end:
        tick()
        remake(i)
        i += 1
    return {"made": i, "long_lived": long_lived}
