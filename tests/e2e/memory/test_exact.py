# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--allocations against the programs' books: every block of 512 bytes or more, to the byte."""
import pytest

from memory_runs import record, record_command

PARTS = ("blocks",)


@pytest.fixture
def with_ctypes(interpreter):
    try:
        interpreter.ask("import ctypes, json; print(json.dumps(1))")
    except Exception:
        pytest.skip("a build without ctypes, which calls the allocator")
    return interpreter


@pytest.fixture
def recorded(with_ctypes, scratch, out):
    return record(with_ctypes, scratch, out / "exact.mlyze", *PARTS, every=None,
                  options=("--allocations",), children=False)


def test_every_block_to_the_byte(recorded):
    assert not recorded.off("held") and not recorded.off("touched")


def test_a_program_that_it_starts(with_ctypes, scratch, out):
    """As `tachbpf -m mem --allocations -- sh -c 'exec python ...'`: from when its calls were counted."""
    recorded = record_command(with_ctypes, scratch, out / "exact.mlyze", *PARTS)
    assert not recorded.off("held") and not recorded.off("touched")


def test_it_says_that_it_is_exact(recorded):
    file, = recorded.rows.said["files"]
    assert file["recorded"]["mode"] == "exact", file
