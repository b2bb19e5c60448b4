# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest plugin: marks the tests of `make check` (tests/gate.txt) with `gate`, and adds up how long each slept.

A line of the list is a file, FILE::TEST, or FILE::TEST[how its parameters begin; `#` begins a remark.
Only sleeps of more than 0.1 s count, by what was asked for: shorter ones are steps of a loop that
waits for an event.
"""
import time
from pathlib import Path

import pytest

import tally
from grouping import plain_name

LIST = Path(__file__).resolve().parents[2] / "gate.txt"
STEP_S = 0.1
slept_s = 0.0
sleep = time.sleep


def entries():
    """The list's lines, without remarks."""
    lines = (line.partition("#")[0].strip() for line in LIST.read_text().splitlines())
    return [line for line in lines if line]


def matches(entry, name):
    """Returns whether the test called NAME is one that the entry names."""
    return name == entry or name.startswith((entry + "::", entry + "[")) or ("[" in entry and name.startswith(entry))


def name_of(item):
    """As the list has it: below tests/."""
    return f"{item.config.rootpath.name}/{plain_name(item.nodeid)}"


def asked_for_some(session):
    """Returns whether the command line names tests of a file: then the others are not there."""
    return any("::" in word for word in session.config.args)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session, items):
    by_file = {}
    for entry in entries():
        by_file.setdefault(entry.partition("::")[0], []).append(entry)
    found, unused = set(), {}
    for item in items:
        name = name_of(item)
        file = name.partition("::")[0]
        mine = [entry for entry in by_file.get(file, ()) if matches(entry, name)]
        if mine:
            item.add_marker("gate")
        found.update(mine)
        unused[file] = set(by_file.get(file, ()))
    if not asked_for_some(session):
        lost = sorted(set().union(*unused.values()) - found)
        if lost:
            raise pytest.UsageError(f"{LIST.name}: no test is called {', '.join(lost)}")


def counted_sleep(seconds):
    global slept_s
    slept_s += seconds if seconds > STEP_S else 0
    sleep(seconds)


def pytest_configure():
    time.sleep = counted_sleep


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    before = slept_s
    yield
    if slept_s > before:
        tally.slept(f"tests/{name_of(item)}", round(slept_s - before, 3))
