# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Captures of CPython's own profiler in tests/golden/tach, and what CPython says is in them.

NAME.bin is the capture, NAME.collapsed what CPython's replay prints, NAME.lines.txt (of some)
each sample. A frame in words is FILE:FUNCTION:LINE, as in the collapsed format.
"""
import collections
import json
import os

from paths import TESTS

GOLDEN = TESTS / "golden" / "tach"
CAPTURES = sorted(p.name for p in GOLDEN.glob("*.bin"))
RELEASE = [n for n in CAPTURES if n.count(".") == 1]
DECODED = sorted(p.name.split(".")[0] for p in GOLDEN.glob("*.lines.txt"))
BITS = ((1, "gil"), (2, "on-cpu"), (4, "cpu-unknown"), (8, "gil-requested"), (16, "exception"),
        (32, "main"))


def stacks(text):
    """Collapsed stacks with their counts; the order of lines carries no meaning."""
    counts = collections.Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        assert stack not in counts
        counts[stack] = int(count)
    return counts


def lines_of(name):
    """(thread, interpreter, time, status, frames) of every sample in NAME.lines.txt."""
    for line in (GOLDEN / name).read_text().splitlines():
        *numbers, frames = line.split(" ", 4)
        yield (*map(int, numbers), json.loads(frames))


def said(name):
    """{(tid, words root first): samples} of a capture, as CPython's replay says."""
    out = collections.Counter()
    for stack, count in stacks((GOLDEN / (name.split(".")[0] + ".collapsed")).read_text()).items():
        tid, *words = stack.split(";")
        out[int(tid.removeprefix("tid:")), tuple(words)] = count
    return out


def samples_of(name):
    """(tid, time, status, frames innermost first) of NAME.lines.txt; a frame is (file, function,
    line). Frames of CPython's profiler are left out, as CPython's own formats do."""
    for tid, _, time, status, frames in lines_of(name):
        frames = [(f[0], f[1], max(f[2], 0)) for f in frames
                  if not f[0].endswith("_sync_coordinator.py")]
        yield tid, time, status, frames


def word(file, func, line):
    return func if (file, line) == ("~", 0) else f"{os.path.basename(file)}:{func}:{line}"


def drop_line(w):
    return w.rpartition(":")[0] if ":" in w else w


def drop(counter, key):
    """The counts by what key() makes of each entry."""
    out = collections.Counter()
    for k, v in counter.items():
        out[key(*k)] += v
    return out


def status_text(status):
    """A status in words, as our formats with a column for it have it."""
    return "+".join(name for bit, name in BITS if status & bit) or "none"


def call_statistics():
    """What pstats has, from cpu_raw's samples: {(file, line, func): [cc, nc, callers]}."""
    funcs = {}
    for _, _, _, frames in samples_of("cpu_raw.lines.txt"):
        keys = [(file, line, func) for file, func, line in frames]
        for key in set(keys):
            funcs.setdefault(key, [0, 0, collections.Counter()])[1] += 1
        if keys:
            funcs[keys[0]][0] += 1
        for callee, caller in zip(keys, keys[1:]):
            funcs[callee][2][caller] += 1
    return funcs
