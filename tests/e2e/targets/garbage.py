# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Cyclic garbage all the time; measures how much CPU the collector takes."""
import gc
import random
import time

from truth import leaf, tick

state = {"start": 0.0, "gc_s": 0.0}


class Node:
    pass


def on_gc(phase, info):
    now = time.thread_time()
    if phase == "start":
        state["start"] = now
    else:
        state["gc_s"] += now - state["start"]


def make_cycles(n):
    leaf()
    for _ in range(n):
        a, b = Node(), Node()
        a.other, b.other = b, a
        sum(range(20))


def run(seconds):
    irregular = random.Random(1)        # a steady period could beat with the profiler's
    keep = [Node() for _ in range(5000)]
    gc.callbacks.append(on_gc)
    start = time.thread_time()
    while time.thread_time() - start < seconds:
        tick()
        make_cycles(irregular.randrange(500, 3500))
        gc.collect()
    gc.callbacks.remove(on_gc)
    return {"gc_s": state["gc_s"], "cpu_s": time.thread_time() - start, "kept": len(keep)}
