# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Calls the allocator all the time, and keeps a book by function: what it was given, and what it holds.

busy.py PATH: warms up until a line comes, then writes the book to PATH at the next line.
"""
import json
import os
import select
import sys

SPIN = int(os.environ.get("BUSY_SPIN", "20000"))
HEADER = sys.getsizeof(b"")     # and bytes take 1 for their end
book, kept, ring = {}, [], [None] * 500


def note(function, size, held=0):
    sums = book.setdefault(function, {"touched": 0, "held": 0})
    sums["touched"] += size
    sums["held"] += held


def keeps():
    """All of it stays."""
    kept.append(bytes(1000))
    note("keeps", HEADER + 1000, HEADER + 1000)


def drops():
    """Nothing stays."""
    for _ in range(10):
        bytes(1500)
    note("drops", 10 * (HEADER + 1500))


def turns(state=[0]):
    """The same number stays, always others."""
    for _ in range(5):
        state[0] = (state[0] + 1) % len(ring)
        ring[state[0]] = None
        ring[state[0]] = bytes(3000)
    note("turns", 5 * (HEADER + 3000))


def some(state=[0]):
    """One of six stays."""
    for _ in range(6):
        block = bytes(2200)
        state[0] += 1
        if state[0] % 6 == 0:
            kept.append(block)
    note("some", 6 * (HEADER + 2200), HEADER + 2200)


def asked():
    return select.select([sys.stdin], [], [], 0)[0] and sys.stdin.readline()


def run(keep):
    while not asked():
        keeps(), drops(), turns(), some()
        sum(range(SPIN))
        if not keep:
            kept.clear()


print("ready", flush=True)
run(keep=False)
book.clear()
run(keep=True)
book["turns"]["held"] = sum(block is not None for block in ring) * (HEADER + 3000)
with open(sys.argv[1], "w") as out:
    json.dump(book, out)
print("done", flush=True)
sys.stdin.readline()
