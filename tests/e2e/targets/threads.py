# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Four threads that share the GIL, each in a function of its own."""
import threading
import time

from truth import leaf, spin, tid, until

stop = False
spent = {}


def north():
    leaf()
    while not stop:
        for i in range(2000):
            i & 3


def south():
    leaf()
    while not stop:
        for i in range(2000):
            i & 3


def east():
    leaf()
    while not stop:
        for i in range(2000):
            i & 3


def west():
    leaf()
    while not stop:
        for i in range(2000):
            i & 3


def measured(function):
    start = time.thread_time()
    function()
    spent[function.__name__] = {"tid": tid(), "cpu_s": time.thread_time() - start}


def run(seconds):
    global stop
    workers = [threading.Thread(target=measured, args=(f,)) for f in (north, south, east, west)]
    for w in workers:
        w.start()
    for _ in until(seconds):
        spin(20)
        time.sleep(0.02)
    stop = True
    for w in workers:
        w.join()
    return {"spent": spent}
