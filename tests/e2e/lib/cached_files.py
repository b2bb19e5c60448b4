# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest plugin: keeps the interpreters' files in the page cache.

A libpython has up to 30 MB, for which a slow disk takes half a second, and the recorder waits. What
that does is for tests of its own (test_slow_disk.py); no other test should depend on what the kernel
has dropped meanwhile.
"""
import functools
import time
from pathlib import Path

import pytest

from present import EVERY

SECONDS = 20            # between two rounds; a round takes 0.1 s if nothing was dropped
read_at = None


def files_of(interpreter):
    for word in interpreter.prefix:
        path = Path(interpreter.root + str(word))
        if path.is_file():
            path = path.resolve()
            yield path
            yield from path.parent.parent.glob("lib/libpython*.so*")


@functools.cache
def files():
    return {path for interpreter in EVERY for path in files_of(interpreter)}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    global read_at
    if read_at is not None and time.monotonic() < read_at + SECONDS:
        return
    for path in files():
        with path.open("rb") as f:
            while f.read(1 << 20):
                pass
    read_at = time.monotonic()
