# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""packing.py TRUTH: one thread compresses, one sleeps, the main thread waits; says "ready"."""
import os
import threading
import time
import zlib

DATA = bytes(range(256)) * 40000


def pack(begun):
    begun.set()
    while True:
        zlib.compress(DATA, 9)


def sleep(begun):
    begun.set()
    time.sleep(10000)


for name, work in (("packs", pack), ("sleeps", sleep)):
    event = threading.Event()
    threading.Thread(target=work, args=(event,), name=name, daemon=True).start()
    event.wait()
print("ready", flush=True)
os.read(0, 1)
os._exit(0)
