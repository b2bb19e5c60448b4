# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A census of a process that lies about its heap (targets/hostile/heaps.c): it ends, within its limits, and what it says is
well-formed."""
import json

import pytest

import hostile
from recording import succeeded, tachbpf

ROWS_MAX = 4096
NAME_BYTES = 96


@pytest.fixture(scope="module", params=["3.11", "3.13", "3.15"])
def program(request, tmp_path_factory):
    return hostile.build(tmp_path_factory.mktemp("hostile"), request.param)


def assert_well_formed(process):
    assert len(process["types"]) <= ROWS_MAX and len(process["largest"]) <= 64
    assert process["pools_read"] <= process["pools"]
    for row in process["types"]:
        assert row["type"].isprintable() and 0 < len(row["type"].encode()) < NAME_BYTES
        assert row["bytes"] >= row["owned"] >= 0 and row["objects"] > 0
    # No object is larger than all that the process has.
    assert all(large["bytes"] < 1 << 40 for large in process["largest"])


@pytest.mark.parametrize("scenario", ["heap-lies", "heap-changes"])
@pytest.mark.parametrize("how", [(), ("--exact",)], ids=["sample", "exact"])
def test_lies(program, scenario, how):
    with hostile.Hostile(program, scenario) as target:
        said = json.loads(succeeded(tachbpf("heap", "--json", *how, str(target.process.pid))).stdout)
    process, = said["processes"]
    assert process["pools"] >= 1000
    assert_well_formed(process)
    if scenario == "heap-lies":
        # A third of the pools has a free list without an end.
        assert process["left_out"]["bad_pools"] >= 1
    left_out = process["left_out"]
    assert set(left_out) == {"bad_pools", "bad_types", "unread"}
