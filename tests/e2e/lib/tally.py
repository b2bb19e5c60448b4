# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many tests passed, failed and were skipped: each tier says so, tests/check.py adds up.

TACHBPF_TALLY names a file, one for each tier. A line of it is a JSON object: {"tier": ...,
"passed": n, "failed": n, "skipped": n, "failures": [[test, where its evidence is], ...]},
{"slept": seconds, "test": ...}, {"retried": 1, "test": ..., "why": ...}, or {"absent": [system that could not be had, ...]}. Without the variable nothing is written.
"""
import json
import os

COUNTS = ("passed", "failed", "skipped", "retried")


def write(**line):
    path = os.environ.get("TACHBPF_TALLY")
    if not path:
        return
    with open(path, "ab", buffering=0) as f:        # in one write: others append, too
        f.write(json.dumps(line).encode() + b"\n")


def add(tier, failures=(), **counts):
    """passed=, failed=, skipped= of a tier; as often as there is something to say."""
    assert set(counts) <= set(COUNTS), counts
    write(tier=tier, failures=[list(f) for f in failures], **counts)


def retried(test, why):
    """A test was run once more, which the summary tells; why: what the machine did to it. Never in make check."""
    write(retried=1, test=test, why=why)


def slept(test, seconds):
    """A test waited for so long by the clock (gate.py); tests/check.py refuses some."""
    write(slept=seconds, test=test)


def read(path):
    """The lines of a tally file."""
    with open(path) as f:
        return [json.loads(line) for line in f if line.strip()]
