# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest plugin: the interpreters that are here, and which of them each test gets in this run.

Under CI=true, what set-up promises must be there.
"""
import os

import pytest

import choice
import interpreters

IN_CI = os.environ.get("CI") == "true"
EVERY = interpreters.discover()
REFUSED = [i for i in interpreters.discover(supported_only=False) if not i.supported]
BY_NAME = {i.name: i for i in EVERY}
ABSENT = interpreters.missing(EVERY + REFUSED)
NAMES = [i.name for i in EVERY] + ABSENT
# What this run covers: see choice.py.
SIZE = choice.size()
FOUND = [i for i in EVERY if i.name in choice.of(NAMES, SIZE)]
MISSING = [name for name in ABSENT if name in choice.of(NAMES, SIZE)]


def absent(reason):
    """Something the test needs is not here: a failure where set-up promises it."""
    if IN_CI:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def need(name):
    if name not in BY_NAME:
        absent(f"{name} is not installed: run make interpreters")
    return BY_NAME[name]


def names_covered(asked):
    """The interpreters that a test which asks for this size gets in this run."""
    size = SIZE if SIZE == "all" else choice.smaller(SIZE, asked)
    return [n for n in NAMES if n in choice.of(NAMES, size)]


def covered(asked="few"):
    """The interpreters of those that are here."""
    return [BY_NAME[n] for n in names_covered(asked) if n in BY_NAME]


def pytest_report_header():
    lines = ["covered: %d of %d interpreters (%s): %s" % (
                 len(FOUND), len(EVERY), SIZE, ", ".join(map(str, FOUND))),
             "must be refused: " + (", ".join(map(str, REFUSED)) or "none is here")]
    return lines + ["missing, run make interpreters: " + ", ".join(MISSING)] * bool(MISSING)


def asked_for(node):
    """The set that a test asks for, by its marker; a few."""
    marker = node.get_closest_marker("interpreters")
    return marker.args[0] if marker else "few"


def pytest_generate_tests(metafunc):
    if "interpreter" in metafunc.fixturenames:
        names = names_covered(asked_for(metafunc.definition))
        metafunc.parametrize("interpreter", names, indirect=True)
