# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A short run of tests/bench/soak.py: hundreds of processes at 10 kHz, and every loss is counted."""
import pytest

import soak

pytestmark = pytest.mark.truth      # judges memory, and when tables are empty again, under load

SECONDS = 20


def test_a_short_soak(scratch, python):
    directory = scratch / "soak"
    directory.mkdir()
    result = soak.soak(python, directory, SECONDS)
    found = soak.problems(result)
    # in a run this short the profiler's memory still grows with new names
    assert not [p for p in found if not p.startswith("RSS")], found
    assert max(result["rss"]) < 300 * 1024
    assert result["summary"]["samples"] > 1000
