# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest's own: 120 tests with a fixture."""
import pytest

import work


@pytest.fixture
def parsed():
    return work.parse()


@pytest.mark.parametrize("i", range(120))
def test_it(parsed, i):
    work.render()
