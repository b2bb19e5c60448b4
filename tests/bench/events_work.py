# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""events_work.py DEPTH: at each line of input, bursts of os.getppid() at this depth of Python functions; prints
the CPU time of the bursts in ns, and how many calls they made. Between bursts it sleeps, so that the budget of
an eighth of a CPU has room for each event."""
import os
import sys
import time

BURSTS, CALLS = 40, 250


def burst():
    getppid = os.getppid
    begin = time.thread_time_ns()
    for _ in range(CALLS):
        getppid()
    return time.thread_time_ns() - begin


def deeper(depth):
    return deeper(depth - 1) if depth else burst()


print("ready", flush=True)
for _ in sys.stdin:
    spent = 0
    for _ in range(BURSTS):
        spent += deeper(int(sys.argv[1]))
        time.sleep(0.02)
    print(spent, BURSTS * CALLS, flush=True)
