# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A generator that burns while it is resumed from a loop and through yield from."""
from truth import leaf, until


def inner():
    leaf()
    while True:
        for i in range(5000):
            i & 3
        yield i


def outer():
    yield from inner()


def consume(generator):
    for _ in range(20):
        next(generator)


def run(seconds):
    generator = outer()
    for _ in until(seconds):
        consume(generator)
