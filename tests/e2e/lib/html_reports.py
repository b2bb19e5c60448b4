# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The HTML reports: how tests make them, and the numbers that they must show."""
import collections
import re

from captures import samples_of
from command import good

# How the names of details begin, as in user/model/self_frame.c.
DETAIL = re.compile(
    "<(GC>|native>|blocked in |exception |kernel |waiting for |unwound no further)")
CAPTURES = ("cpu_raw", "wall_zstd", "native_opcodes", "deep400")


def replay(out, *paths, report="flamegraph", more=()):
    good("replay", *paths, "--format", report, "-o", out, *more)
    return out


def samples(name):
    """(thread, status, stack root first as (file, function, line)) of every sample."""
    for tid, _, status, frames in samples_of(f"{name}.lines.txt"):
        yield tid, status, tuple(reversed(frames))


def is_detail(frame):
    """Does it say what the Python function below it does: <GC>, not <truncated>?"""
    return frame[0] == "~" and bool(DETAIL.match(frame[1]))


def self_of(stack):
    """Whose self a sample with this stack, root first, is."""
    return next((f for f in reversed(stack) if not is_detail(f)), stack[0])


def counted(stacks, by_line=False):
    """self and total of each function (or line) in the stacks."""
    self_count, total = collections.Counter(), collections.Counter()
    for stack in stacks:
        keys = [s if by_line else s[:2] for s in stack]
        self_count[self_of(keys)] += 1
        total.update(set(keys))
    return self_count, total
