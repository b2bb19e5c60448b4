# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A cache with a bound: much is touched, the newest is held."""
import collections

from book import CHUNK, MIB, PATTERN, gave, kept, pace, private, took

newest = collections.deque()


def caches():
    entry = private(MIB)
    for at in range(0, MIB, CHUNK):
        entry[at:at + CHUNK] = PATTERN
    newest.append(entry)
    took(MIB)


def evicts():
    newest.popleft().close()
    gave(caches, MIB)


def run(mib=24, bound=8):
    kept.append(newest)
    for _ in range(mib):
        caches()
        if len(newest) > bound:
            evicts()
        pace()
