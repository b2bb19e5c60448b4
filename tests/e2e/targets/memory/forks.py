# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Copy on write: after a fork, the child writes to a half, the parent to a quarter, of what is common."""
import os

from book import CHUNK, MIB, PATTERN, children, gave, pace, private, took


def before_fork(size):
    common = private(size)
    for at in range(0, size, CHUNK):
        common[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    took(size)
    return common


def child_writes(common, size):
    for at in range(0, size, CHUNK):
        common[at:at + CHUNK] = PATTERN
        pace(CHUNK)


def parent_writes(common, begin, end):
    for at in range(begin, end, CHUNK):
        common[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    took(end - begin)
    gave(before_fork, end - begin)


def child_main(common, size, ready, stay):
    """The child lives until the parent has gone."""
    child_writes(common, size)
    os.write(ready, b"x")
    os.read(stay, 1)
    os._exit(0)


def run(mib=16):
    size = mib * MIB
    common = before_fork(size)
    ready, stay = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(stay[1])
        child_main(common, size // 2, ready[1], stay[0])
    os.close(stay[0])
    os.read(ready[0], 1)
    parent_writes(common, size // 2, size // 2 + size // 4)
    globals()["kept"] = common, stay
    children.append({"pid": pid, "functions": {"child_writes": {
        "file": __file__, "touched": size // 2, "held": size // 2}}})
