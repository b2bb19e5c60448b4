# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""turns.py DEPTH unchanged|changing: two threads work in turn, each with exactly DEPTH frames.

Each reads a byte from its pipe, works for some 100 us and writes the byte to the other's pipe. Each
level of a stack has a function and a file of its own. "unchanged": a thread waits with the same
stack each time; "changing": the innermost frame has other callers at every second wait.
"""
import _thread
import itertools
import os
import sys

DEPTH, HOW = int(sys.argv[1]), sys.argv[2]
WORK = range(8000)
FUNCTION = "def {name}(*args):\n return {callee}(*args)\n"


def leaf(own, other, turns):
    for _ in turns:
        os.read(own, 1)
        sum(WORK)
        os.write(other, b"x")


def chain(name, levels):
    """A function that calls leaf() through so many levels, itself included."""
    scope, callee = {"leaf": leaf}, "leaf"
    for i in range(levels):
        level = "%s_%d" % (name, i)
        exec(compile(FUNCTION.format(name=level, callee=callee), level + ".py", "exec"), scope)
        callee = level
    return scope[callee]


def work(name, own, other):
    # work and leaf are two of the frames
    one, another = (chain(name + way, DEPTH - 2) for way in ("_one", "_another"))
    if HOW == "unchanged":
        one(own, other, itertools.repeat(None))
    while True:
        one(own, other, (None,))
        another(own, other, (None,))


def main():
    # a thread that is woken waits until the other one waits: that is one switch a turn
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    there, back = os.pipe(), os.pipe()
    _thread.start_new_thread(work, ("ping", there[0], back[1]))
    _thread.start_new_thread(work, ("pong", back[0], there[1]))
    os.write(there[1], b"x")
    print("ready", flush=True)
    sys.stdin.read()


main()
