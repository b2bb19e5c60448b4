# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What threads run whose states were made by hand: with the GIL, in C without it, and asleep. Each
says "starved", its tid, and for how many ns it wanted a CPU and had none while it slept."""
import os
import time
import zlib

DATA = bytes(4 << 20)
SLEEPS = 30             # each of 10 ms


def clock():
    return time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)


def holds_the_gil(end):
    while clock() < end:
        sum(range(100))


def is_without_the_gil(end):
    while clock() < end:
        zlib.crc32(DATA)


def starved_ns():
    with open("/proc/thread-self/schedstat") as f:
        return int(f.read().split()[1])


def sleeps():
    for _ in range(SLEEPS):
        time.sleep(0.01)


def made_by_hand():
    holds_the_gil(clock() + 0.6)
    is_without_the_gil(clock() + 0.3)
    before = starved_ns()
    sleeps()
    tid = os.readlink("/proc/thread-self").rpartition("/")[2]
    os.write(1, "starved {} {}\n".format(tid, starved_ns() - before).encode())


made_by_hand()
