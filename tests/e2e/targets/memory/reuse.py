# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Free and reuse: what one function has given back, another touches again, at the same addresses."""
from book import CHUNK, MIB, PATTERN, gave, kept, pace, private, took


def uses_first(size):
    memory = private(size)
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    took(size)
    memory.close()
    gave(uses_first, size)


def uses_then(size):
    memory = private(size)
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    kept.append(memory)
    took(size)


def run(mib=8):
    """The kernel gives the hole that the first left to the second, which is as large."""
    for _ in range(3):
        uses_first(mib * MIB)
    uses_then(mib * MIB)
