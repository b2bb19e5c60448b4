# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A disk that is slow but works: tachbpf waits for it, and the process is not given up."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import cgroups
from present import absent, need
from recording import succeeded, tachbpf

BURN = "while True: sum(range(1000))"
SPEED = 4 << 20         # bytes a second: what is read of an interpreter takes longer than 200 ms
SECONDS = 3


def whole_disk(path):
    """"major:minor" of the disk that has this file, or None."""
    number = os.stat(path).st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not device.exists():
        return None
    device = device.resolve()
    if (device / "partition").exists():
        device = device.parent
    return (device / "dev").read_text().strip()


@pytest.fixture
def slowly(out):
    """The prefix of a command line whose process reads slowly from the disk of the test's files."""
    mount, disk = cgroups.disks(), whole_disk(out)
    if mount is None or disk is None:
        absent("no cgroup here can limit a disk's speed")
    with cgroups.Tree(mount) as tree:
        directory = tree.make("slow")
        cgroups.limit_disk(directory, disk, SPEED)
        yield cgroups.enter(directory, [])


def drop(path):
    """Of the page cache: what nobody has mapped."""
    with path.open("rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def test_a_process_whose_files_come_slowly_is_profiled(slowly, out):
    """Its libpython is a copy of which nobody has read more than what runs."""
    [executable] = need("pyenv-3.12.1").prefix
    home = Path(executable).resolve().parent.parent
    library, = home.glob("lib/libpython3.12.so.*")
    copy = Path(shutil.copy(library, out))
    env = {"PYTHONHOME": str(home), "LD_LIBRARY_PATH": str(out)}
    with subprocess.Popen([executable, "-S", "-c", BURN], env=env) as target:
        try:
            drop(copy)
            done = succeeded(tachbpf("-p", target.pid, "-d", SECONDS, "-r", "99",
                                     "-o", out / "one.tach", "--json", prefix=slowly))
        finally:
            target.kill()
    assert not done.summary["refused"]
    assert done.summary["files_stuck"] == 0
    assert done.summary["samples"] > 0
