# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""docs/cpython-support.md: the tests that it names are there, and so are its interpreters."""
import re

import pytest

import interpreters
from interp.builds import BUILDS
from interp.roots import ROOTS
from paths import E2E, REPO
from present import FOUND

PAGE = REPO / "docs" / "cpython-support.md"
DEFINED = re.compile(r"^\s*(?:def|static void) (test_\w+)\(", re.MULTILINE)
NAMED = re.compile(r"`(test_\w+?)(_?\.\.\.|\.py)?(?:::(test_\w+))?`")


def sections():
    """Heading -> text."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def table(text):
    """Rows of the first table, as lists of cells; the line below the heading left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in (lines[0], *lines[2:])]


def kind_of(interpreter):
    """The row that an interpreter belongs to."""
    for kind, is_so in (("musl", interpreter.libc == "musl"),
                        ("free-threaded", interpreter.free_threaded),
                        ("`Py_TRACE_REFS`", interpreter.trace_refs),
                        ("`Py_DEBUG`", interpreter.debug),
                        ("shared libpython", interpreter.kind == "shared")):
        if is_so:
            return kind
    return "static, stripped, LTO and PGO"


@pytest.fixture(scope="module")
def builds():
    """(build, "3.X") -> what the cell says."""
    heading, *rows = table(sections()["Versions and builds"])
    assert heading[1:] == [f"3.{minor}" for minor in range(interpreters.SUPPORTED[0][1],
                                                          interpreters.SUPPORTED[1][1] + 1)]
    return {(row[0], minor): cell for row in rows for minor, cell in zip(heading[1:], row[1:])}


def test_every_test_that_is_named_exists():
    files = [*E2E.parent.rglob("test_*.py"), *E2E.parent.rglob("*.c")]
    defined = {name for path in files for name in DEFINED.findall(path.read_text("utf-8"))}
    named = NAMED.findall(PAGE.read_text(encoding="utf-8"))
    assert len(named) > 50
    for name, ending, function in named:
        if ending == ".py":
            assert f"{name}.py" in {path.name for path in files}, name
        elif ending:
            assert any(d.startswith(name) for d in defined), name
        else:
            assert name in defined, name
        assert not function or function in defined, function


def test_every_feature_has_a_test():
    heading, *rows = table(sections()["Versions"])
    assert heading[-1] == "test" and len(rows) > 10
    for row in rows:
        assert len(row) == len(heading) and all(row), row
        assert NAMED.search(row[-1]), row[0]


def test_every_prepared_interpreter_is_in_the_table(builds):
    made = {name for root in ROOTS for name, _ in root.interpreters()} | {b.name for b in BUILDS}
    listed = {name for cell in builds.values() for name in re.findall(r"`([\w.-]+)`", cell)}
    assert {name for name in listed if not name.startswith("system-")} == made


def test_every_interpreter_here_has_a_cell(builds):
    for i in FOUND:
        cell = builds[kind_of(i), "%d.%d" % i.minor]
        if i.name.startswith(("pyenv-", "system-")):
            assert cell, f"{i}: the page knows no such build"       # as the host has it
        else:
            assert f"`{i.name}`" in cell, i
