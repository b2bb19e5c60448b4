# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that run sub-interpreters, each its own, and one that goes to and fro between two.

What burns in the interpreter with id N is called burn_N, so that each sample tells
whether its interpreter is the right one. Python 3.8 and later.
"""
import sys
import threading
import time

from truth import leaf, tid, until

if sys.version_info >= (3, 13):
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters

BURN = """
import time
def burn_%d(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(20000):
            i & 3
burn_%d(%f)
"""
THREADS = 3
ROUNDS = 25


def burn_in(interp, seconds):
    number = int(interp)
    interpreters.run_string(interp, BURN % (number, number, seconds))


def at_home(seconds):
    leaf()
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(20000):
            i & 3


def create(made):
    made.append(interpreters.create())


def stay(made, seconds, done):
    """Thread: one interpreter; whether this thread made it or another did."""
    if not made:
        create(made)
    burn_in(made[0], seconds)
    done[int(made[0])] = tid()


def travel(seconds, done):
    """Thread: home, one interpreter, the other one, and home again."""
    two = [interpreters.create(), interpreters.create()]
    for _ in range(ROUNDS):
        at_home(seconds / ROUNDS)
        for interp in two:
            burn_in(interp, seconds / ROUNDS)
    for interp in two:
        done[int(interp)] = tid()
    done[0] = tid()


def run(seconds):
    each = seconds / (THREADS + 3)
    done = {}
    foreign = []
    create(foreign)
    workers = [threading.Thread(target=stay, args=(foreign, each, done))]
    workers += [threading.Thread(target=stay, args=([], each, done)) for _ in range(THREADS - 1)]
    workers.append(threading.Thread(target=travel, args=(each, done)))
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    for _ in until(0):
        pass
    return {"tids": done, "each_s": each}
