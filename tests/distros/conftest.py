# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`make check-distros`. DISTROS=debian-13,... in the environment chooses systems."""
import os

import pytest

import systems
from interp import cache

pytest_plugins = ("grouping", "evidence", "counting")


def pytest_generate_tests(metafunc):
    if "system" in metafunc.fixturenames:
        wanted = os.environ.get("DISTROS", "").replace(",", " ").split()
        unknown = set(wanted) - {s.name for s in systems.SYSTEMS}
        if unknown:
            raise SystemExit(f"check-distros: no such system: {', '.join(sorted(unknown))}; there "
                             f"are {', '.join(s.name for s in systems.SYSTEMS)}")
        some = [s for s in systems.SYSTEMS if not wanted or s.name in wanted]
        metafunc.parametrize("system", some, ids=[s.name for s in some], scope="session")


@pytest.fixture(scope="session")
def ready(system):
    try:
        system.prepare()
    except cache.Failed as error:
        # The machines that CI runs on have the mirrors' own distribution.
        if os.environ.get("CI") == "true" and system.name == "debian-13":
            raise
        pytest.skip(f"{system.name}: its root cannot be had: {error}")
    return system
