# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many tests passed, failed and were skipped: each tier says so, tests/check.py adds up.

TACHBPF_TALLY names a file. A line of it is a JSON object: {"tier": ..., "passed": n,
"failed": n, "skipped": n, "retried": n, "failures": [[test, where its evidence is], ...]};
what is left out is 0. Without the variable nothing is written.
"""
import json
import os

COUNTS = ("passed", "failed", "skipped", "retried")


def add(tier, failures=(), **counts):
    """passed=, failed=, skipped=, retried= of a tier; as often as there is something to say."""
    assert set(counts) <= set(COUNTS) | {"why"}, counts
    path = os.environ.get("TACHBPF_TALLY")
    if not path:
        return
    line = json.dumps(dict(tier=tier, failures=[list(f) for f in failures], **counts))
    with open(path, "ab", buffering=0) as f:
        f.write(line.encode() + b"\n")


def retried(test, why):
    """A test was run once more, which the summary tells; why: what the machine did to it."""
    add(os.environ.get("TACHBPF_TIER", "tests"), retried=1, why=f"{test}: {why}")


def read(path):
    """The lines of a tally file."""
    with open(path) as f:
        return [json.loads(line) for line in f if line.strip()]
