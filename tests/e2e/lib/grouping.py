# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest plugin: how tests are dealt out to the workers of pytest-xdist.

Tests that share a fixture of a module or of the session go to the same worker, so that it is
made once; all others go to whichever worker is free. A file whose tests would see each other's
processes names its group itself (same_worker()). Long groups come first: the tail is short.
"""
import collections

import pytest

PREFIX = "shared-"


def same_worker(name):
    """A mark: tests that have it run one after the other."""
    return pytest.mark.xdist_group(PREFIX + name)


def each_worker(function):
    """A fixture of the session that costs next to nothing: each xdist worker makes its own,
    and the tests that share it need not share a worker."""
    function.each_worker = True
    return pytest.fixture(scope="session")(function)


def is_shared(definition):
    function = definition.func
    ours = not function.__module__.startswith(("_pytest", "pytest", "xdist"))
    return ours and definition.scope != "function" and not hasattr(function, "each_worker")


def shared_fixtures(item):
    """(name, where it is defined) of each fixture that this test shares with others."""
    return [(name, definitions[-1].func.__module__)
            for name, definitions in item._fixtureinfo.name2fixturedefs.items()
            if is_shared(definitions[-1])]


def groups(items):
    """Item -> name of its group: those with a fixture in common, or a fixture's fixture."""
    leader = {}

    def lead(key):
        while leader.setdefault(key, key) != key:
            key = leader[key]
        return key

    first = {}
    for item in items:
        keys = shared_fixtures(item)
        for key in keys:
            leader[lead(key)] = lead(keys[0])
        if keys:
            first[item] = keys[0]
    return {item: "%s%s.%s" % (PREFIX, *reversed(lead(key))) for item, key in first.items()}


def group_of(item):
    marker = item.get_closest_marker("xdist_group")
    return marker.args[0] if marker else ""


@pytest.hookimpl(hookwrapper=True)
def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        for item, name in groups(items).items():
            if not group_of(item):
                item.add_marker(pytest.mark.xdist_group(name))
    yield
    size = collections.Counter(filter(None, map(group_of, items)))
    items.sort(key=lambda item: (-size[group_of(item)], group_of(item)))


def plain_name(nodeid):
    """A test's name without the group that xdist appends."""
    return nodeid.partition("@" + PREFIX)[0]
