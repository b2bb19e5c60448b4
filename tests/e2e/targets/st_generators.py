# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Generators: resumed by for, next, send, throw and close, through yield from, 25 deep."""
from rehearse import Play


def work():
    x = 0
    for i in range(300):
        x += i & 3
    return x


def counting(n):
    for i in range(n):
        work()
        yield i


def delegating(depth, n):
    if depth:
        return (yield from delegating(depth - 1, n))
    yield from counting(n)


def echo():
    got = None
    while True:
        try:
            got = yield got
            work()
        except ValueError:
            work()
        finally:
            got = 1


def short(n):
    for i in range(n):
        yield i


def act():
    for _ in delegating(25, 8):
        work()
    sum(i for i in short(300))
    sum(1 for i in short(100) for j in short(2))
    talk = echo()
    next(talk)
    for i in range(10):
        talk.send(i)
        talk.throw(ValueError())
    talk.close()
    list(zip(short(50), short(50)))
    a, b, *rest = short(20)


run = Play(act, ["work", "short"]).run
