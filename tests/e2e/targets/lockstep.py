# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""lockstep.py TRUTH PERIOD_NS SECONDS: keeps step with a clock of that period, so long of CPU.

The first half of each period is spent in first(), the second one in second(), by an
absolute schedule: who looks with the same period always sees the same half. Each half is
measured by the thread's own CPU time. Speaks as run.py does: ready, go, done.
"""
import itertools
import json
import os
import sys
import time

clock = getattr(time, "perf_counter_ns", None) or (lambda: int(time.perf_counter() * 1e9))
cpu = getattr(time, "thread_time_ns", None) or (lambda: int(time.thread_time() * 1e9))


def first(until):
    begin = cpu()
    while clock() < until:
        pass
    return cpu() - begin


def second(until):
    begin = cpu()
    while clock() < until:
        pass
    return cpu() - begin


def play(period, seconds):
    spent = [0, 0]
    begin = clock()
    for turn in itertools.count():
        if sum(spent) >= seconds * 1e9:
            return spent
        start = begin + turn * period
        if clock() < start + period:        # else the machine was elsewhere
            spent[0] += first(start + period / 2)
            spent[1] += second(start + period)


def main():
    truth, period, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    print("ready", flush=True)
    sys.stdin.readline()
    window = [time.monotonic()]
    spent = play(period, seconds)
    window.append(time.monotonic())
    with open(truth, "w") as f:
        json.dump({"pid": os.getpid(), "spent_ns": spent,
                   "window_us": [int(t * 1e6) for t in window]}, f)
    print("done", flush=True)
    sys.stdin.readline()


main()
