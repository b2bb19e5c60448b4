# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Garbage collections in files of memory: so many of each generation as gc.get_stats() counts."""
import pytest

from memory_runs import PAGE, record


@pytest.fixture
def recorded(interpreter, scratch, out):
    return record(interpreter, scratch, out / "collections", "collects", every=PAGE)


def test_collections_are_those_of_the_interpreter(recorded):
    """3.12 on may count some of another generation: what counts is what the interpreter itself says."""
    want = [generation["collections"] for generation in recorded.truth["collections"]]
    file, = recorded.rows.said["files"]
    assert sum(want) and file["recorded"]["collections_by_generation"][:3] == want
    assert file["collected_objects"] >= sum(g["collected"] for g in recorded.truth["collections"])
