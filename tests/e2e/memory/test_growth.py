# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bytes by function against the programs' own books, and how much of the process' growth is explained.

Each interpreter plays all parts in one process, with each page fault wanted (--every 4096): nothing is
left to chance, and 5 % or two pages is the bound (memory_runs.Recorded.allowed; a part of some MiB also has
what the interpreter takes in the function). At the default distance of 64 KiB it is a matter of chance which fault
is sampled: of n distances, the bound at one false alarm in a million is 5 % from n = 13,000 on
(noise.bytes_bound), so the list that grows has 832 MiB there.
"""
import json

import pytest

import noise
from memory_runs import DEFAULT_EVERY, MIB, NEAR, NOT_WALKED, record
from per_interpreter import of_all
from present import EVERY
from recording import tachbpf

# Twice the room that the budget for stacks leaves if each fault is wanted, and the copies on write last.
PARTS = ("growth=24", "cache", "system_calls=4", "threads=4", "maps=8", "reuse=4", "leak", "shared_maps=8",
         "forks=8")
PACE = {"BOOK_PACE_MS": "24"}
EXPLAINED = 0.95


@pytest.fixture(scope="session")
def all_recorded(request, scratch):
    """Of each interpreter that a selected test asks for, some at a time."""
    wanted = {item.callspec.params.get("interpreter") for item in request.session.items
              if hasattr(item, "callspec") and "recorded" in item.fixturenames}
    return of_all([i for i in EVERY if i.name in wanted],
                  lambda i: record(i, scratch, scratch / f"memory-{i.name}", *PARTS, env=PACE))


@pytest.fixture
def recorded(interpreter, all_recorded):
    return all_recorded[interpreter.name].result()


def test_held_by_function(recorded):
    assert not recorded.off("held")


def test_touched_by_function(recorded):
    assert not recorded.off("touched")


def test_growth_is_explained(recorded):
    """Of what the kernel counts as the process' own; by us, and by the recording's own account."""
    found = recorded.rows.total("held") / recorded.growth
    assert EXPLAINED <= found <= 2 - EXPLAINED, (found, recorded.growth)
    assert EXPLAINED <= recorded.mine["explained"] <= 2 - EXPLAINED, recorded.mine


def test_the_list_that_grows_is_on_top(recorded):
    assert recorded.rows.top("held") == "grower"


def test_a_child_has_what_it_copied(recorded):
    for child in recorded.truth["children"]:
        assert not recorded.off("held", child["functions"], recorded.child(child["pid"]))


def test_every_stack_was_walked(recorded):
    """The pace leaves room for it, or the figures above have not said much."""
    not_walked = recorded.rows.of(NOT_WALKED, "touched")
    assert not_walked <= NEAR * recorded.rows.total("touched"), recorded.finished


def test_files_are_valid(recorded):
    done = tachbpf("mem", "--validate", recorded.directory)
    assert done.returncode == 0, repr(done)


def test_lines(recorded):
    """Rows have the line that touched, if asked by stack."""
    said = json.loads(tachbpf("mem", "--json", "--limit", "0", "--by", "stack",
                              recorded.mine["path"]).stdout)
    lines = open(recorded.truth["functions"]["grower"]["file"]).read().splitlines()
    found = set()
    for row in said["files"][0]["rows"]:
        leaf = row["frames"][0] if row["frames"] else {}
        if leaf.get("function") == "grower" and row["held"] > MIB:
            found.add(lines[leaf["line"] - 1].strip())
    assert found == {'everything.append(b"\\1" * MIB)'}


@pytest.mark.interpreters("one")
def test_at_the_default_distance(interpreter, scratch, out):
    """One function among ten gets 832 MiB, sampled once in 64 KiB on average."""
    assert noise.bytes_bound(832 * MIB, DEFAULT_EVERY).high <= (1 + NEAR) * 832 * MIB
    recorded = record(interpreter, scratch, out / "default", "growth=832", every=DEFAULT_EVERY,
                      env={"BOOK_PACE_MS": "2"})
    assert not recorded.off("held") and not recorded.off("touched")
    assert recorded.rows.top("held") == "grower"
    found = recorded.rows.total("held") / recorded.growth
    assert EXPLAINED <= found <= 2 - EXPLAINED
