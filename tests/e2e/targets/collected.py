# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""collected.py TRUTH: collects known garbage in a known order, and writes what the interpreter says
of it: per generation the differences of gc.get_stats(), and the time (wall, CPU) of each collection.

It computes all the time, so that it is seen: before "go" nothing is collected, and nothing after
"done" until its standard input ends.
"""
import gc
import json
import os
import select
import sys
import time

# (generation, cycles that are garbage then); short ones, and many at a time
SHORT = ((0, 3), (1, 2), (0, 1), (2, 5), (0, 0), (1, 40), (2, 0), (0, 7)) * 3
LONG_CNT = 8
LIVE = 150000           # objects that a long collection goes through
KEYS = ("collections", "collected", "uncollectable")

spent = [[0.0, 0.0, 0] for _ in range(3)]       # wall s, CPU s, runs; by generation


class Node:
    pass


def make_cycles(n):
    for _ in range(n):
        a, b = Node(), Node()
        a.other, b.other = b, a


def timed(phase, info):
    sign = -1 if phase == "start" else 1
    of = spent[info["generation"]]
    of[0] += sign * time.perf_counter()
    of[1] += sign * time.process_time()
    of[2] += phase == "stop"


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(200))


def compute_until_line():
    while not select.select([sys.stdin], [], [], 0)[0]:
        sum(range(200))
    return sys.stdin.readline()


def collect(live):
    for i, (generation, cycles) in enumerate(SHORT):
        make_cycles(cycles)
        gc.collect(generation)
        if i % 3 == 0:
            compute(0.005)
    for _ in range(LONG_CNT):
        make_cycles(10)
        gc.collect(2)
        compute(0.01)
    return len(live)


def main():
    gc.disable()
    live = [[] for _ in range(LIVE)]
    print("ready", flush=True)
    compute_until_line()
    before = gc.get_stats()
    gc.callbacks.append(timed)
    collect(live)
    gc.callbacks.remove(timed)
    after = gc.get_stats()
    truth = {"stats": [[a[k] - b[k] for k in KEYS] for a, b in zip(after, before)],
             "spent": spent, "began_with": [[b[k] for k in KEYS] for b in before]}
    with open(sys.argv[1] + ".new", "w") as out:
        json.dump(truth, out)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    print("done", flush=True)
    while compute_until_line():
        pass


main()
