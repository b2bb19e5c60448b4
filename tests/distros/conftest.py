# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`make check-distros`. DISTROS=debian-13,... in the environment chooses systems.

Its last lines say how long each demo took and which systems could not be had.
"""
import os
import re
from types import SimpleNamespace

import pytest

import systems
import tally
from here import BUILD, make
from interp import cache

pytest_plugins = ("grouping", "evidence", "counting")
PROGRAMS = ("tachbpf", "tachbpf-agent", "tachbpf-elf")
absent = {}             # system -> why its root cannot be had
took = {}               # system -> seconds of its demo


def pytest_generate_tests(metafunc):
    if "system" in metafunc.fixturenames:
        wanted = os.environ.get("DISTROS", "").replace(",", " ").split()
        unknown = set(wanted) - {s.name for s in systems.SYSTEMS}
        if unknown:
            raise SystemExit(f"check-distros: no such system: {', '.join(sorted(unknown))}; there "
                             f"are {', '.join(s.name for s in systems.SYSTEMS)}")
        some = [s for s in systems.SYSTEMS if not wanted or s.name in wanted]
        only = getattr(metafunc.module, "ONLY", ())     # systems that a file of tests is for
        some = [s for s in some if not only or s.name in only]
        metafunc.parametrize("system", some, ids=[s.name for s in some], scope="session")


@pytest.fixture(scope="session")
def ready(system):
    """A system whose root is there."""
    if system.name in absent:
        pytest.skip(absent[system.name])
    try:
        system.prepare()
    except cache.Failed as error:
        # The machines that CI runs on have the mirrors' own distribution.
        if os.environ.get("CI") == "true" and system.name == "debian-13":
            raise
        absent[system.name] = f"{system.name}: its root cannot be had: {error}"
        pytest.skip(absent[system.name])
    return system


@pytest.fixture
def keep(request):
    """A function that keeps what a command printed in build/distros, also if the test succeeds."""
    def write(text):
        place = BUILD / "distros"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{request.node.name}.txt").write_text(text)
    return write


@pytest.fixture(scope="session")
def static():
    """make static, on this machine. .binary; .warnings: the linker's, each after the line that says
    of which object."""
    for program in PROGRAMS:        # linked anew, or nothing is said
        (BUILD / "static" / program).unlink(missing_ok=True)
    done = make("static")
    # Debian 13's libelf.a is incomplete, and that is all that may be missing.
    if re.search(r"no static binary can be made here: .*incomplete: -lelf \(", done.stdout):
        pytest.skip("the libelf.a of this system is incomplete")
    assert done.returncode == 0, done.stdout[-4000:]
    lines = done.stdout.splitlines()
    warnings = [f"{before} {line}" for before, line in zip(["", *lines], lines) if "warning" in line]
    return SimpleNamespace(binary=BUILD / "static/tachbpf", warnings=warnings)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    took.update(dict(report.user_properties).get("demo", {}))


def pytest_unconfigure(config):
    """After pytest's own last line."""
    if took:
        print("demo: " + ", ".join(f"{name} {seconds:.0f} s" for name, seconds in took.items()))
    if absent:
        print("not tested, their roots cannot be had: " + ", ".join(absent))
        tally.write(absent=sorted(absent))
