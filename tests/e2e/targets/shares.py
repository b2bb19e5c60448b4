# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Three functions that burn 60, 30 and 10 % of the CPU; says what they really burnt."""
import random
import time

from truth import leaf, tick

spent = {"burn_sixty": 0.0, "burn_thirty": 0.0, "burn_ten": 0.0}


def burn_sixty(n):
    leaf()
    x = 0
    for i in range(n):
        x += i & 3
    return x


def burn_thirty(n):
    leaf()
    x = 0
    for i in range(n):
        x += i & 3
    return x


def burn_ten(n):
    leaf()
    x = 0
    for i in range(n):
        x += i & 3
    return x


def timed(function, n):
    start = time.thread_time()
    function(n)
    spent[function.__name__] += time.thread_time() - start


def run(seconds):
    irregular = random.Random(1)        # a steady period could beat with the profiler's
    while sum(spent.values()) < seconds:
        tick()
        unit = irregular.randrange(20000, 40000)
        timed(burn_sixty, 6 * unit)
        timed(burn_thirty, 3 * unit)
        timed(burn_ten, unit)
    return {"spent": spent}
