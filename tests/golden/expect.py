# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the readers' golden files hold, as the tests compare it: one JSON array a line.

A profile is ["profile", unit, process id or 0, comm or null]; then its events, each
[thread, time in us, weight, [[file, function, line or -1, column or -1], ...]], innermost first.
"""
import json

SYNTHETIC = "~"
DEEPEST = 256
NOMINAL_US = 1000


def place(name, file=SYNTHETIC, line=-1, column=-1):
    return [file, name, line if line > 0 else -1, column if line > 0 else -1]


def fit(innermost_first):
    if len(innermost_first) <= DEEPEST:
        return innermost_first
    return innermost_first[:DEEPEST - 1] + [place("<truncated>")]


def write(path, profiles):
    """profiles: (unit, pid, comm, events)."""
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for unit, pid, comm, events in profiles:
            rows = [["profile", unit, pid, comm]]
            rows += [[thread, time, weight, fit(frames)] for thread, time, weight, frames in events]
            for row in rows:
                out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
