# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Exceptions raised, handled, chained and passed on through many frames; with and finally."""
import contextlib

from rehearse import Play


def spin(n):
    for i in range(n):
        i & 3


def fail(n):
    if n:
        return fail(n - 1)
    raise ValueError("on purpose")


def cleaning(n):
    try:
        return cleaning(n - 1) if n else fail(3)
    finally:
        spin(50)


def chained(n):
    try:
        return chained(n - 1) if n else fail(3)
    except ValueError as error:
        spin(50)
        raise ValueError(n) from error


class Manager:
    def __enter__(self):
        spin(50)
        return self

    def __exit__(self, kind, value, traceback):
        spin(50)
        return kind is KeyError


@contextlib.contextmanager
def managed():
    spin(50)
    try:
        yield
    finally:
        spin(50)


def key(i):
    if i == 15:
        fail(2)
    return i


def swallow(function, *args):
    try:
        function(*args)
    except ValueError:
        spin(100)


def with_blocks():
    with Manager():
        raise KeyError
    with managed(), Manager():
        spin(50)
        fail(4)


def from_c():
    sorted(range(30), key=key)


def stopping():
    with contextlib.suppress(ZeroDivisionError):
        1 / 0
    try:
        next(iter(()))
    except StopIteration:
        spin(30)


def act():
    swallow(fail, 50)
    swallow(cleaning, 30)
    swallow(chained, 30)
    swallow(with_blocks)
    swallow(from_c)
    stopping()


run = Play(act, ["spin", "fail", "chained"]).run
