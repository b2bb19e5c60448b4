# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The offsets in user/asyncio/home.c against living futures and tasks of each interpreter.

_asyncio's structs are in no header: targets/futures.py finds them in its own memory.
"""
import subprocess

import pytest

from paths import E2E
from pythons import cc_with_cpython, found

PYTHONS = [p for p in found() if (3, 8) <= p.minor <= (3, 13)]


@pytest.fixture(scope="session")
def print_asyncio(tmp_path_factory):
    return cc_with_cpython(tmp_path_factory.mktemp("asyncio") / "print_asyncio", "print_asyncio.c")


def numbers(argv):
    out = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    return {name: int(value) for name, value in map(str.split, out.splitlines())}


@pytest.mark.parametrize("python", PYTHONS or [None], ids=str)
def test_fields_of_living_tasks(python, print_asyncio, tmp_path):
    if not python:
        pytest.skip("no CPython 3.8 to 3.13 here: run make interpreters")
    script = tmp_path / "futures.py"    # under /tmp, which foreign roots see
    script.write_text((E2E / "targets" / "futures.py").read_text())
    living = numbers(python.command(script))
    assert numbers([print_asyncio, python.minor[1], living.pop("head")]) == living


def test_unknown_versions_have_none(print_asyncio):
    for minor in (7, 14):
        assert subprocess.run([str(print_asyncio), str(minor), "16"]).returncode == 1
