# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`make check-warehouse`: packaging/warehouse's queries in DuckDB, ClickHouse and Spark."""
import os
import sys

import pytest

import recipes
from interp import cache


def find_engines():
    """They must be there before generate.py imports pyarrow."""
    try:
        place = recipes.path_of(recipes.Engines())
        sys.path.insert(0, recipes.packages(place))
        return os.path.join(place, "bin", "python3")
    except (cache.Failed, OSError) as error:
        print(f"check-warehouse: the engines cannot be had: {error}")
        return None


PYTHON = find_engines()
pytest_plugins = ("grouping", "present", "shared_fixtures", "evidence", "counting", "agent_windows")


@pytest.fixture(scope="session")
def python():
    """The Python that has the engines. Without it nothing here can be tested."""
    import present
    return PYTHON or present.absent("the engines' packages cannot be had from PyPI")
