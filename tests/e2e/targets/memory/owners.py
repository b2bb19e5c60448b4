# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Who touches a page first, and whose objects are in it later: those who keep what they make, and one who does not.

In steps, with time between them: what a step has made is looked at before the next one.
"""
import itertools
import time

from book import CHUNK, gave, took

STEP_S = 0.008
OBJECT = 112                # CPython's own allocator has a size class for it
ARRAY = 4 * CHUNK           # glibc's has a mapping for each
BLOCK, BLOCKS = 12000, 9    # from glibc's heap: too large for what is free since the start
TENANT = 8 * BLOCK - 1000   # fits where eight of them were
room = [None] * 2000        # does not grow: that would free memory in between


def keeps_objects(at, cnt):
    room[at] = list(map(bytes, itertools.repeat(OBJECT - 33, cnt)))
    took(OBJECT * cnt)


def keeps_arrays(at):
    room[at] = bytearray(b"\1") * ARRAY
    took(ARRAY)


def borrows(at):
    """Touches new memory, and gives it back to the allocator; not to the kernel, as the last block stays."""
    blocks = [None] * BLOCKS
    for i in range(BLOCKS):
        blocks[i] = b"\1" * (BLOCK - i)
    room[at] = blocks[-1]
    took(BLOCK * BLOCKS)
    gave(borrows, TENANT)


def moves_in(at):
    room[at] = bytearray(TENANT)
    took(TENANT)


def run(steps=100):
    for at in range(steps):
        keeps_objects(at, CHUNK // OBJECT)
        time.sleep(STEP_S)
    for at in range(steps, 2 * steps):
        keeps_arrays(at)
        time.sleep(STEP_S)
    for at in range(2 * steps, 4 * steps, 2):
        borrows(at)
        time.sleep(STEP_S)
        moves_in(at + 1)
