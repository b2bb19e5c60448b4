# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A leak of small objects: 112 bytes each, which CPython's own allocator has a size class for."""
import sys

from book import MIB, kept, pace, took

OBJECT = 112


def makes_room(cnt):
    """The list has its size from the start: what is added later are objects only."""
    kept.append([None] * cnt)
    took(8 * cnt)
    return kept[-1]


def leaks_small(leaked, begin, end):
    content = OBJECT - sys.getsizeof(b"")
    for i in range(begin, end):
        leaked[i] = bytes(content)
    took(OBJECT * (end - begin))


def run(mib=16):
    cnt = mib * MIB // OBJECT
    leaked = makes_room(cnt)
    step = MIB // OBJECT
    for begin in range(0, cnt, step):
        leaks_small(leaked, begin, min(cnt, begin + step))
        pace()
