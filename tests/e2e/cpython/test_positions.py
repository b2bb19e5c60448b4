# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Names, lines, columns (3.11+) and opcodes of live code objects, read from outside the process.

Each interpreter compiles much of its standard library and writes down what it knows;
read_codes.c reads the same code objects out of its memory. Every answer must be equal.
"""
import concurrent.futures
import shutil
import subprocess

import pytest

from paths import TARGETS
from present import covered
from processes import online_cpus
from pythons import cc_with_cpython

pytestmark = pytest.mark.interpreters("two")      # the others in check-all


def both_answers(python, read_codes, out):
    """What the process and what read_codes.c say about each instruction: two lists of lines."""
    out.mkdir()
    for name in ("codes.py", "rehearse.py"):
        shutil.copy(str(TARGETS / name), str(out))
    argv = python.command(out / "codes.py", out / "addresses", out / "answers")
    target = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert target.stdout.readline() == b"ready\n"
        for image in python.images:
            with open(str(out / "addresses")) as addresses:
                run = subprocess.run([str(read_codes), str(target.pid), image], stdin=addresses,
                                     stdout=subprocess.PIPE)
            if run.returncode == 0:
                break
        assert run.returncode == 0, "no CPython in %s" % python.images
    finally:
        target.stdin.close()
        target.wait()
    return (out / "answers").read_bytes().splitlines(), run.stdout.splitlines()


@pytest.fixture(scope="module")
def answers(scratch, tmp_path_factory):
    """both_answers() of every interpreter, as many at a time as there are CPUs."""
    read_codes = cc_with_cpython(tmp_path_factory.mktemp("codes") / "read_codes", "read_codes.c")
    with concurrent.futures.ThreadPoolExecutor(online_cpus()) as pool:
        return {p.name: pool.submit(both_answers, p, read_codes, scratch / ("codes-" + p.name))
                for p in covered("two")}


def test_every_instruction(interpreter, answers):
    want, got = answers[interpreter.name].result()
    assert len(got) == len(want) > 1000
    wrong = [(w, g) for w, g in zip(want, got) if w != g]
    assert not wrong, "%d of %d differ; first:\n%s\n%s" % (len(wrong), len(want), *wrong[0])
