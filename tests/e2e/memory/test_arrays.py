# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NumPy's arrays, and huge pages: a fault gives 2 MiB, and is sampled as rarely as one that gives 4 KiB."""
from pathlib import Path

import pytest

from interp import cache
from memory_runs import DEFAULT_EVERY, MIB, NEAR, PAGE, record
from present import BY_NAME, absent
from pypi import PyPI, path_of

PACKAGES = ("numpy==2.3.4",)        # as in targets of ../native: one directory of packages
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.fixture
def with_numpy():
    """(interpreter, environment)"""
    interpreter = BY_NAME.get("pyenv-3.12.1") or absent("pyenv-3.12.1 is not installed")
    try:
        return interpreter, {"PYTHONPATH": str(path_of(PyPI("NumPy", interpreter, PACKAGES)))}
    except (cache.Failed, OSError) as error:
        absent(f"NumPy cannot be had: {error}")


@pytest.fixture
def huge_pages(python):
    if not THP.exists() or "[never]" in THP.read_text():
        pytest.skip("this kernel gives nobody huge pages")
    return python


def test_arrays(with_numpy, scratch, out):
    """
    Nothing is held of zeros until somebody writes to them. Each array has a mapping of its own: otherwise
    the C library may put one where freed memory is still resident, which then has no page faults.
    """
    interpreter, env = with_numpy
    recorded = record(interpreter, scratch, out / "arrays", "arrays", every=PAGE,
                      env=dict(env, BOOK_PACE_MS="24", MALLOC_MMAP_THRESHOLD_="131072"))
    assert not recorded.off("held") and not recorded.off("touched")


def test_huge_pages_each_fault(huge_pages, scratch, out):
    recorded = record(huge_pages, scratch, out / "huge", "huge=128", every=PAGE)
    assert not recorded.off("held") and not recorded.off("touched")


def test_huge_pages_at_the_default_distance(huge_pages, scratch, out):
    """A run of them is found whole, once one of it was sampled: one in sixteen is."""
    recorded = record(huge_pages, scratch, out / "huge", "huge=512", every=DEFAULT_EVERY)
    held = recorded.rows.of("touches_huge", "held")
    assert abs(held - 512 * MIB) <= NEAR * 512 * MIB, held
