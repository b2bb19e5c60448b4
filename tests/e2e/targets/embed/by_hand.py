# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What threads run whose states were made by hand: with the GIL, in C without it, and asleep."""
import time
import zlib

DATA = bytes(4 << 20)
SLEEPS = 30


def clock():
    return time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)


def holds_the_gil(end):
    while clock() < end:
        sum(range(100))


def is_without_the_gil(end):
    while clock() < end:
        zlib.crc32(DATA)


def sleeps():
    for _ in range(SLEEPS):
        time.sleep(0.01)


def made_by_hand():
    holds_the_gil(clock() + 0.6)
    is_without_the_gil(clock() + 0.3)
    sleeps()


made_by_hand()
