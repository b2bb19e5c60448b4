# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A list that grows in one function among ten; the others take a little once, or nothing that stays."""
from book import MIB, CHUNK, PATTERN, kept, pace, private, took, gave

everything = []


def grower():
    everything.append(b"\1" * MIB)
    took(MIB)


def takes_once(size):
    blocks = private(size)
    for at in range(0, size, CHUNK):
        blocks[at:at + CHUNK] = PATTERN
    kept.append(blocks)
    took(size)


def takes_and_gives(size):
    blocks = private(size)
    for at in range(0, size, CHUNK):
        blocks[at:at + CHUNK] = PATTERN
    blocks.close()
    took(size)
    gave(takes_and_gives, size)


def computes():
    return sum(i & 3 for i in range(1000))


def formats():
    return "%d %s" % (computes(), "x" * 10)


def sorts():
    return sorted((7 * i) % 11 for i in range(100))


def joins():
    return ",".join(map(str, range(100)))


def splits():
    return joins().split(",")


def counts():
    found = {}
    for word in splits():
        found[word] = found.get(word, 0) + 1
    return len(found)


def looks_up():
    return "99" in {word: 1 for word in splits()}


def run(mib=64):
    for i in range(mib):
        grower()
        if i % 8 == 0:
            takes_once(MIB // 4)
        takes_and_gives(MIB // 8)
        for light in (computes, formats, sorts, counts, looks_up):
            light()
        pace(MIB + MIB // 4)
