# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`-o x.tach -- WRAPPER python`: a chain of execs in one process, of which the last is Python. All its
samples are in the file that was asked for, whoever was faster: the program's next exec, its record,
or the inspection that an earlier record asked for."""
import json
import os

import pytest

from recording import succeeded, tachbpf

BURN = "import time\ne = time.process_time() + 0.15\nwhile time.process_time() < e: pass\n"
RUNS = 4
WRAPPERS = (["env"], ["nice"], ["chroot", "/"], ["env", "nice", "chroot", "/"],
            ["sh", "-c", 'exec "$@"', "sh"])


def rows(path):
    return json.loads(path.read_text())["processes"]


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=" ".join)
def test_all_samples_are_in_the_file(python, out, wrapper):
    for run in range(RUNS):
        where = out / str(run)
        where.mkdir()
        done = succeeded(tachbpf("-q", "--no-source", "-r", "999", "-o", where / "x.tach", "--", *wrapper,
                                 *python.command("-c", BURN)))
        assert sorted(os.listdir(where)) == ["x.tach", "x.tach.json"]
        row, = rows(where / "x.tach.json")
        assert row["samples"] > 0 and row["file"] == "x.tach"
        assert done.stderr == ""


def test_nothing_was_sampled(python, out):
    """The file is there, and -q says so, too."""
    done = succeeded(tachbpf("-q", "--no-source", "-r", "1", "-o", out / "x.tach", "--", "env",
                             *python.command("-c", "pass")))
    row, = rows(out / "x.tach.json")
    assert row["file"] == "x.tach"
    assert ("no samples" in done.stderr) == (row["samples"] == 0)
    assert sorted(os.listdir(out)) == ["x.tach", "x.tach.json"]
