# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Names, lines, columns and opcodes of live code objects, read from outside the process.

Each interpreter compiles much of its standard library and writes down what it knows;
read_codes.c reads the same code objects out of its memory. Every answer must be equal.
"""
import os
import shutil
import subprocess

import pytest

from pythons import HERE, cc_with_cpython, found


@pytest.fixture(scope="session")
def read_codes(tmp_path_factory):
    return cc_with_cpython(tmp_path_factory.mktemp("codes") / "read_codes", "read_codes.c")


@pytest.fixture
def shared_dir(tmp_path, request):
    """A directory and its name inside the interpreter's root."""
    root = request.getfixturevalue("python").root
    if not root:
        yield tmp_path, str(tmp_path)
        return
    if os.geteuid():
        pytest.skip("chroot into %s needs root" % root)
    inside = "/tmp/tachbpf-codes-%d" % os.getpid()
    os.mkdir(root + inside)
    yield type(tmp_path)(root + inside), inside
    shutil.rmtree(root + inside)


@pytest.mark.parametrize("python", found() or [None], ids=lambda p: p.name if p else "none")
def test_every_instruction(python, read_codes, shared_dir):
    if not python:
        pytest.skip("no CPython 3.11 to 3.15 in PATH, PYENV_ROOT or TACHBPF_SID")
    outside, inside = shared_dir
    shutil.copy(str(HERE / "targets" / "codes.py"), str(outside))
    argv = [*python.argv(), inside + "/codes.py", inside + "/addresses", inside + "/answers"]
    target = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert target.stdout.readline() == b"ready\n"
        images = [i for i in python.images if os.path.exists(i)]
        for image in images:
            with open(str(outside / "addresses")) as addresses:
                run = subprocess.run([str(read_codes), str(target.pid), image], stdin=addresses,
                                     stdout=subprocess.PIPE)
            if run.returncode == 0:
                break
        assert run.returncode == 0, "no CPython in %s" % images
    finally:
        target.stdin.close()
        target.wait()
    want = (outside / "answers").read_bytes().splitlines()
    got = run.stdout.splitlines()
    assert len(got) == len(want) > 1000
    wrong = [(w, g) for w, g in zip(want, got) if w != g]
    assert not wrong, "%d of %d differ; first:\n%s\n%s" % (len(wrong), len(want), *wrong[0])
