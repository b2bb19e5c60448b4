# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Suspended coroutines of live processes, read from outside: where they are, and what they await.

The program says what it knows of itself (targets/coroutines.py); read_coroutines.c reads the same
objects out of its memory. Every answer must be equal.
"""
import shutil
import subprocess

import pytest

from paths import TARGETS
from pythons import cc_with_cpython

pytestmark = pytest.mark.interpreters("all")

PARTS = ["asyncio/task_read.c", "asyncio/coroutine.c", "asyncio/future.c", "asyncio/waits_for.c", "base/text.c"]


@pytest.fixture(scope="module")
def read_coroutines(tmp_path_factory):
    return cc_with_cpython(tmp_path_factory.mktemp("coroutines") / "read_coroutines", "read_coroutines.c", *PARTS)


def test_coroutines(interpreter, read_coroutines, scratch):
    if interpreter.minor < (3, 8):
        pytest.skip("asyncio's tasks are read from 3.8 on")
    out = scratch / ("coroutines-" + interpreter.name)
    out.mkdir()
    shutil.copy(str(TARGETS / "coroutines.py"), str(out))
    argv = interpreter.command(out / "coroutines.py", out / "addresses", out / "answers")
    target = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert target.stdout.readline() == b"ready\n"
        for image in interpreter.images:
            with open(str(out / "addresses")) as addresses:
                run = subprocess.run([str(read_coroutines), str(target.pid), image], stdin=addresses,
                                     stdout=subprocess.PIPE, universal_newlines=True)
            if run.returncode == 0:
                break
        assert run.returncode == 0, "no CPython in %s" % interpreter.images
    finally:
        target.stdin.close()
        target.wait()
    want, got = (out / "answers").read_text().splitlines(), run.stdout.splitlines()
    assert len(want) > 50
    assert got == want
