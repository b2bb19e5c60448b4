# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a program knows of its memory: bytes that its functions touched, and those that they still hold.

Standard library only, CPython 3.6 and later. A function says itself what it did, in its own frame.
"""
import mmap
import os
import re
import sys
import threading
import time

MIB = 1 << 20
PAGE = mmap.PAGESIZE
CHUNK = 64 * 1024
PATTERN = b"\1" * CHUNK         # to be copied from: touched before anything is counted
PACE_S = float(os.environ.get("BOOK_PACE_MS", 8)) / 1000      # sleep for each MiB
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS

functions = {}                  # name -> {"file", "touched", "held"}
children = []                   # books of child processes: as run.py writes them
collections = []                # by generation, as gc.get_stats() has them
skipped = []                    # what this interpreter cannot play
lock = threading.Lock()
kept = []                       # what must stay until the end


def account(code, touched, held, most=None):
    with lock:
        row = functions.setdefault(code.co_name, {"file": code.co_filename, "touched": 0, "held": 0,
                                                  "touched_most": 0})
        row["touched"] += touched
        row["touched_most"] += most or touched
        row["held"] += held


def took(size, most=None):
    """The calling function has touched so many bytes that nobody had touched; it may look like most."""
    account(sys._getframe(1).f_code, size, size, most)


def took_in(function, size):
    """As took(), of a function of a library that works for the caller."""
    account(function.__code__, size, size)


def gave(function, size):
    """So many of the bytes that a function touched are gone."""
    account(function.__code__, 0, -size)


def pace(size=MIB):
    time.sleep(PACE_S * size / MIB)


def private(size):
    """New memory that nobody has touched, of exactly so many pages."""
    return mmap.mmap(-1, size, flags=PRIVATE)


def anonymous():
    """Bytes of the process that are its own, by the kernel's exact count."""
    rollup = "/proc/self/smaps_rollup"
    with open(rollup if os.path.exists(rollup) else "/proc/self/smaps") as f:
        return sum(1024 * int(kib) for kib in re.findall(r"^Anonymous: *(\d+) kB", f.read(), re.M))
