# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`make check-servers`: what servers that others made think of what the agent sends."""
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

import recipes
from interp import cache


def find_decoder():
    """The published decoder must be there before a plugin imports otlp_decode."""
    try:
        sys.path.insert(0, recipes.path_of(recipes.Decoder()))
    except (cache.Failed, OSError) as error:
        print(f"check-servers: {recipes.DECODER} cannot be had: {error}")


find_decoder()
pytest_plugins = ("grouping", "present", "shared_fixtures", "agent_fixtures", "evidence", "counting")


@pytest.fixture(scope="session")
def absent():
    """A function to say that something is not here; not imported above: it is a plugin, too."""
    import present
    return present.absent


@pytest.fixture(scope="session")
def collector_program(absent):
    try:
        return Path(recipes.path_of(recipes.Collector()), "collector")
    except (cache.Failed, OSError) as error:
        absent(f"the OpenTelemetry Collector cannot be built: {error}")


@pytest.fixture
def tool(absent):
    """A function that says where a program is."""
    def find(name, package):
        path = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
        return path or absent(f"{name} is not installed: apt-get install {package}")
    return find


@pytest.fixture
def directories(tmp_path):
    """A function that makes a new directory for a server."""
    return lambda name: Path(tempfile.mkdtemp(prefix=name + "-", dir=tmp_path))
