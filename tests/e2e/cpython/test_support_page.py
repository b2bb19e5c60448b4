# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""docs/cpython-support.md: each of its lines has a test in tests/shown.md, and its interpreters are there."""
import re

import pytest

import interpreters
from interp.builds import BUILDS
from interp.roots import ROOTS
from paths import E2E, REPO
from present import FOUND

PAGE = REPO / "docs" / "cpython-support.md"
SHOWN = REPO / "tests" / "shown.md"
NAMED = re.compile(r"\btest_\w+")
# Sections whose lines have tests, all of them. What has been tried by hand only has none.
TESTED = ("Versions", "Free-threaded builds", "Compiled code", "Threads and interpreters", "Builds and places")
BY_HAND = {"cinderx's JIT"}
FOOTNOTE = re.compile("[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]")


def sections(text=None, level="##"):
    """Heading -> text, of the page or of this text."""
    parts = re.split(rf"^{level} (.*)$", text or PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
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


@pytest.mark.parametrize("section", TESTED)
def test_every_line_has_a_test(section):
    """That the tests exist is checked by tests/documents.py."""
    page = sections(SHOWN.read_text(encoding="utf-8"))["docs/cpython-support.md"]
    shown = {row[0]: row[-1] for row in table(sections(page, "###")[section])[1:]}
    heading, *rows = table(sections()[section])
    assert len(rows) > 2
    for row in rows:
        assert len(row) == len(heading) and all(row), row
        claim = FOOTNOTE.sub("", row[0])
        assert claim in BY_HAND or NAMED.search(shown.pop(claim, "")), row[0]
    assert not shown, "lines that the page does not have"


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
