# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Cyclic garbage all the time; measures how much CPU the collector takes."""
import gc
import random
import time

from truth import leaf, tick

state = {"start": 0.0, "gc_s": 0.0, "collections": 0}


class Node:
    pass


def on_gc(phase, info):
    now = time.thread_time()
    if phase == "start":
        state["start"] = now
    else:
        state["gc_s"] += now - state["start"]
        state["collections"] += 1


def make_cycles(n):
    leaf()
    for _ in range(n):
        a, b = Node(), Node()
        a.other, b.other = b, a
        sum(range(20))


def call_s():
    """What one call of on_gc() takes: of each collection so much is not known to be its own."""
    before, start = dict(state), time.thread_time()
    for _ in range(1000):
        on_gc("start", None)
    taken = time.thread_time() - start
    state.update(before)
    return taken / 1000


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
    return {"gc_s": state["gc_s"], "cpu_s": time.thread_time() - start, "kept": len(keep),
            "calls_s": 2 * state["collections"] * call_s()}
