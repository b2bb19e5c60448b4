# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Has a sample become dearer? Ratios against tests/bench/budget.json (docs/testing.md, The budget).

`make budget` records them anew, when a change is worth what it costs."""
import os
from pathlib import Path

import pytest

import budget

pytestmark = pytest.mark.truth


@pytest.fixture(scope="module")
def measured():
    if not Path(os.environ.get("READ_COST", "")).is_file():
        pytest.skip("tests/bench/read_cost is not built: make truth-bpf does so")
    try:
        with budget.Measured() as found:
            yield found
    except budget.Missing as why:
        pytest.skip(str(why))


def test_no_figure_rose(measured):
    """The walk in reads of memory; bytes in the ring buffer and in files."""
    said = measured.compare(budget.read_recorded())
    assert not said, "\n".join(said)


def test_the_verifier_looks_at_no_more(measured):
    said = measured.compare_instructions(budget.read_recorded())
    if said is None:
        pytest.skip(f"{budget.kernel()} is not recorded; make check-kernels compares others")
    assert not said, "\n".join(said)
