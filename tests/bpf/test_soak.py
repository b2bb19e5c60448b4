# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A short run of tests/bench/soak.py: processes by the hundred at 10 kHz, nothing lost uncounted."""
import pytest

import soak

pytestmark = pytest.mark.truth      # churn at load: memory, and tables that empty in time

SECONDS = 20


def test_a_short_soak(scratch, python):
    directory = scratch / "soak"
    directory.mkdir()
    result = soak.soak(python, directory, SECONDS)
    found = soak.problems(result)
    # in so short a time the profiler is still learning names
    assert not [p for p in found if not p.startswith("RSS")], found
    assert max(result["rss"]) < 300 * 1024
    assert result["summary"]["samples"] > 1000
