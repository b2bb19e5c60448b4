# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""greenlets that do nothing but switch: at any depth, through C code, in a generator."""
import st_greenlets
from rehearse import Play, skipped
from st_greenlets import greenlet

TIMES = 100


def loop(switch):
    for _ in range(TIMES):
        switch()


def deep(n, then, switch):
    if n:
        return deep(n - 1, then, switch)
    return then(switch)


def to_parent(*ignored):
    greenlet.getcurrent().parent.switch()


def mapping():
    return list(map(to_parent, range(TIMES)))


def generator():
    for i in range(TIMES):
        to_parent()
        yield i


def in_generator():
    return sum(generator())


def until_dead(other):
    while not other.dead:
        other.switch()


def act():
    for mine, theirs in ((0, 0), (2, 9), (12, 1)):
        other = greenlet.greenlet(deep)
        other.switch(theirs, loop, to_parent)
        deep(mine, loop, other.switch)
    for function in (mapping, in_generator):
        until_dead(greenlet.greenlet(function))


run = Play(act, ["loop", "to_parent"]).run if greenlet else skipped(st_greenlets.why)
