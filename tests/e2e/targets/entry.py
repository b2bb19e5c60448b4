# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the programs of test_truth_entries.py share: play, and write what was known.

A program is started in some way (-c, stdin, zipapp, -m ...), so its outermost frame is of
the file that CPython makes up for it. It ends by itself.
"""
import json
import os
import sys
import time

SECONDS = 0.2
clock = getattr(time, "thread_time", time.process_time)     # 3.6 has no such clock


def burn(n):
    for i in range(n):
        i & 3


def key(i):
    return -i


def work():
    burn(300)
    sorted(range(50), key=key)


def write(path, phases):
    with open(path + ".new", "w") as out:
        json.dump({"pid": os.getpid(), "phases": phases}, out)
    os.rename(path + ".new", path)


def at_exit(path, play):
    """Play while the interpreter exits, and say when there is nothing left but to end."""
    write(path, {"entry": play.run(SECONDS)})
    with open(path + ".left", "w") as out:
        out.write(str(int(time.monotonic() * 1e6)))


class Teardown:
    """Something whose finalizer runs when the modules go."""

    def __init__(self, seconds):
        self.seconds, self.clock = seconds, clock

    def __del__(self):
        end = self.clock() + self.seconds
        while self.clock() < end:
            self.step()

    def step(self):
        for i in range(300):
            i & 3


def main(path, act):
    """For programs that just play."""
    sys.dont_write_bytecode = True
    from rehearse import Play
    write(path, {"entry": Play(act, ["burn"]).run(SECONDS)})
