# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Burns while an exception is handled, while one propagates, and while there is none."""
from truth import leaf, until


def handling():
    leaf()
    try:
        raise ValueError("on purpose")
    except ValueError:
        burn_handled()


def burn_handled():
    leaf()
    for i in range(20000):
        i & 3


def burn_calm():
    leaf()
    for i in range(20000):
        i & 3


def make_debris():
    return [[] for _ in range(30000)]


def fail():
    raise KeyError("on purpose")


def never_called(debris, result):
    pass


def propagating():
    # KeyError unwinds this frame's evaluation stack and frees the debris on it:
    # CPU time in the line of the call, with the exception not yet caught.
    try:
        never_called(make_debris(), fail())
    except KeyError:
        pass


def run(seconds):
    for _ in until(seconds):
        handling()
        burn_calm()
        propagating()
