# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Memory that still has what its first user made there is told from memory that others use now.

The program's steps are 8 ms apart, and a first look comes within 1 ms of a fault or not at all: what was looked at in
a step is what the step has made. How many pages are looked at, and of which block, is a matter of chance; what is
said of them is not, but for what else a function touches: frames and tables of the interpreter. Of nine blocks
that the borrower makes, it keeps one.
"""
import json

import pytest

from memory_runs import DEFAULT_EVERY, environment, record
from recording import succeeded, tachbpf

WRONG = 0.2     # of a function's pages
REUSED = 8 / 9  # of the borrower's: of ten pages, less than half are by one chance in 10,000


def contents(recorded):
    """By function: (pages, own, reused), the last two as shares of what was looked at."""
    said = json.loads(succeeded(tachbpf("mem", "--json", "--limit", "0", recorded.mine["path"])).stdout)
    found = {}
    for row in said["rows"]:
        c = row["contents"]
        if c:
            total = c["own_bytes"] + c["reused_bytes"] + c["unused_bytes"]
            found[row["function"]] = (c["pages"], c["own_bytes"] / total, 1 - c["own_bytes"] / total)
    return found


def check(recorded):
    found = contents(recorded)
    assert recorded.mine["pages_looked_at"] == sum(pages for pages, _, _ in found.values())
    for name in ("keeps_objects", "keeps_arrays", "borrows"):
        assert name in found, (name, found)
    assert found["keeps_objects"][1] >= 1 - WRONG, found
    assert found["keeps_arrays"][1] >= 1 - WRONG, found
    assert found["borrows"][0] < 10 or found["borrows"][2] >= REUSED / 2, found
    return found


@pytest.fixture(scope="session")
def owners(python, scratch):
    return record(python, scratch, scratch / "owners", "owners=70", every=DEFAULT_EVERY, env=environment(python))


def test_who_keeps_and_who_does_not(owners):
    check(owners)


def test_the_table_has_a_column(owners):
    text = succeeded(tachbpf("mem", "--limit", "0", owners.mine["path"])).stdout
    head, = [line for line in text.splitlines() if "growth/min" in line]
    assert head.split()[:4] == ["held", "touched", "growth/min", "reused"]
    row, = [line for line in text.splitlines() if "  keeps_arrays " in line]
    assert row[head.index("reused"):][:6].strip().endswith("%") or owners.mine["pages_looked_at"] < 40, row


@pytest.mark.truth
def test_on_each_interpreter(interpreter, scratch, out):
    if interpreter.free_threaded or interpreter.libc == "musl":
        pytest.skip("its allocators are not pymalloc and glibc's")
    check(record(interpreter, scratch, out / "owners", "owners=200", every=DEFAULT_EVERY, env=environment(interpreter)))
