# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One thread that computes for so long by the clock, on a CPU that it has not for itself."""
import waits


def starving(m):
    while m.going():
        for i in range(2000):
            i & 3


def run(seconds):
    waits.seconds = seconds
    return {"parts": {"starved": waits.run_part((starving,))}}
