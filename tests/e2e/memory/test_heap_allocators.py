# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf heap` on every allocator that a CPython can have: mimalloc (free-threaded builds, PYTHONMALLOC=mimalloc), the
words that debug builds and PYTHONMALLOC=debug put around blocks, and the C library's malloc().

The book (targets/allocated.py) is by gc and sys.getsizeof().
"""
import json

import pytest

from recording import succeeded, tachbpf
from target import Target

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

COUNT, MANY = 4000, 40000
NEAR = 0.03             # of the book: what the issue asks for
# Types of which the program has so many that CPython's own do not matter.
COUNTED = ("__main__.Session", "__main__.Pair", "__main__.Node", "bytearray", "list", "set", "dict", "float",
           "function", "cell")
# sys.getsizeof() does not count the values of attributes in (3.13) or beside (3.11) the object.
WITH_ATTRIBUTES = ("__main__.Session", "__main__.Node")


# What PYTHONMALLOC is for each. A debug build has the words by itself; 3.6 takes "debug" for malloc()'s blocks with
# words around them; a free-threaded build knows no "pymalloc_debug".
ALLOCATORS = {"own": "", "debug": "pymalloc_debug", "mimalloc": "mimalloc", "mimalloc_debug": "mimalloc_debug",
              "malloc": "malloc"}


def has(interpreter, allocator):
    """Whether a build can have it, and it is not what every release has."""
    if interpreter.free_threaded:
        return allocator in ("own", "debug")
    if allocator.startswith("mimalloc"):
        return interpreter.minor >= (3, 13) and interpreter.libc == "glibc"
    if allocator == "malloc":
        return True
    return interpreter.debug != (allocator == "debug")


@pytest.fixture(params=ALLOCATORS)
def allocator(request, interpreter):
    if not has(interpreter, request.param):
        pytest.skip("what every release has, or this build cannot have")
    return "debug" if interpreter.free_threaded and request.param == "debug" else ALLOCATORS[request.param]


@pytest.fixture
def free_threaded_only(interpreter):
    if not interpreter.free_threaded:
        pytest.skip("a build with a GIL")


def holding(interpreter, scratch, allocator, count):
    env = {"PYTHONMALLOC": allocator} if allocator else {}
    return Target(interpreter, scratch, str(count), name="allocated", program="allocated.py", env=env)


@pytest.fixture
def held(interpreter, scratch, allocator):
    with holding(interpreter, scratch, allocator, COUNT) as target:
        yield target


def heap(target, *argv):
    said = json.loads(succeeded(tachbpf("heap", "--json", str(target.pid), *argv)).stdout)
    process, = said["processes"]
    return process, {row["type"]: row for row in process["types"]}


def assert_near(rows, book, errors=0):
    for name in COUNTED:
        row, objects, size = rows[name], book["objects"][name], book["bytes"][name]
        off = abs(row["objects"] - objects)
        assert off <= max(NEAR * objects, errors * row["objects_error"]), (row, objects)
        if name in WITH_ATTRIBUTES:
            assert row["bytes"] >= (1 - NEAR) * size - errors * row["bytes_error"], (row, size)
        else:
            assert abs(row["bytes"] - size) <= max(NEAR * size, errors * row["bytes_error"]), (row, size)


def allocator_named(interpreter, allocator):
    """As the JSON says it."""
    if interpreter.free_threaded or allocator.startswith("mimalloc"):
        return "mimalloc"
    return "malloc" if allocator == "malloc" else "pymalloc"


def test_the_book(held, allocator):
    """All units are read: within 3 % of the book, and the largest objects are there."""
    process, rows = heap(held, "--exact")
    assert process["allocator"] == allocator_named(held.interpreter, allocator)
    assert not process["limited"] and process["pools_read"] >= 0.99 * process["pools"]
    # Other allocators do not say which blocks are objects: what only looks like one is counted, too.
    if held.interpreter.free_threaded:
        assert process["left_out"]["bad_types"] <= 20, process["left_out"]
    assert_near(rows, json.loads(held.truth_path.read_text()))
    found = {(large["type"], large["bytes"] // 1000000) for large in process["largest"]}
    assert {("bytearray", 40), ("list", 16), ("bytearray", 3)} <= found, process["largest"]


@pytest.mark.truth
def test_a_sample(free_threaded_only, interpreter, scratch, allocator):
    """At most three times its error: chance is out of the question."""
    with holding(interpreter, scratch, allocator, MANY) as target:
        process, rows = heap(target)
    assert process["pools_read"] < process["pools"]
    assert_near(rows, json.loads(target.truth_path.read_text()), errors=3)
