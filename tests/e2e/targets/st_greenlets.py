# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""greenlets: stacks of one thread that are swapped, from any depth and between threads."""
import os
import sys
import threading

from rehearse import Play, skipped

# interpreters that have no greenlet of their own
sys.path.append(os.path.join(os.environ["TARGET_SCRATCH"], "greenlet-%d.%d" % sys.version_info[:2]))
try:
    import greenlet
except ImportError as error:
    greenlet, why = None, "no greenlet module for this interpreter: %s" % error


def spin(n):
    for i in range(n):
        i & 3


def deep(n, then):
    if n:
        return deep(n - 1, then)
    spin(30)
    return then()


def ping(partner, n):
    for _ in range(n):
        spin(60)
        deep(n, partner[0].switch)


def through_c(i):
    spin(20)
    greenlet.getcurrent().parent.switch(i)
    return i


def mapping():
    return list(map(through_c, range(6)))


def generator_of_switches():
    for i in range(5):
        greenlet.getcurrent().parent.switch(i)
        spin(40)
        yield i


def in_generator():
    return sum(generator_of_switches())


def failing():
    greenlet.getcurrent().parent.switch()
    deep(5, fail)


def fail():
    raise ValueError("on purpose")


def play():
    here = [greenlet.getcurrent()]
    for n in (3, 12):
        other = greenlet.greenlet(ping)
        other.switch(here, n)
        while not other.dead:
            spin(40)
            deep(5, other.switch)
    for function in (mapping, in_generator):
        other = greenlet.greenlet(function)
        while not other.dead:
            spin(20)
            other.switch()
    other = greenlet.greenlet(failing)
    other.switch()
    try:
        other.switch()
    except ValueError:
        spin(20)


def act():
    play()
    thread = threading.Thread(target=play)
    thread.start()
    thread.join()


run = Play(act, ["spin", "deep"]).run if greenlet else skipped(why)
