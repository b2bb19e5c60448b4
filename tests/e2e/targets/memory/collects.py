# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Collections: so many of each generation, by the interpreter's own statistics."""
import gc
import time

import book

RUNS = (7, 5, 3)


class Loop:
    def __init__(self):
        self.itself = self


def makes_garbage(cnt):
    for _ in range(cnt):
        Loop()


def collects(generation):
    makes_garbage(100)
    gc.collect(generation)
    time.sleep(0.03)        # the next tick or fault sees it


def computes():
    """Ticks of its CPU time look at the counters: the first one says what there was before."""
    end = time.process_time() + 0.2
    while time.process_time() < end:
        sum(i & 3 for i in range(1000))


# None but those that are asked for; before the recording, or a tick sees this one as part of it.
gc.disable()
gc.collect()


def run():
    computes()
    before = gc.get_stats()
    for generation, runs in enumerate(RUNS):
        for _ in range(runs):
            collects(generation)
    after = gc.get_stats()
    computes()
    book.collections[:] = [{key: after[i][key] - before[i][key] for key in before[i]}
                           for i in range(len(before))]
