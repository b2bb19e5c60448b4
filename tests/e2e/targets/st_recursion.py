# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Recursion 900 deep: what does not fit is cut at the root, and said so."""
from rehearse import Play


def floor(n):
    for i in range(n):
        i & 3


def descend(n):
    if n == 1:
        return floor(60000)
    return descend(n - 1)


def even(n):
    return floor(4000) if n == 0 else odd(n - 1)


def odd(n):
    return floor(4000) if n == 0 else even(n - 1)


def act():
    descend(900)
    even(300)
    odd(100)


run = Play(act, ["floor"]).run
