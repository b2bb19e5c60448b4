# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Transparent huge pages, asked for by madvise(): a fault gives 2 MiB."""
import ctypes

from book import MIB, kept, pace, private, took

HUGE = 2 * MIB
MADV_HUGEPAGE = 14


def touches_huge(memory, begin, end):
    for at in range(begin, end, HUGE):
        memory[at] = 1
        pace()
    took(end - begin)


def run(mib=128):
    size = mib * MIB
    memory = private(size + HUGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    begin = -address % HUGE
    memory.madvise(MADV_HUGEPAGE)
    touches_huge(memory, begin, begin + size)
    kept.append(memory)
