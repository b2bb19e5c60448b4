# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Descriptors that are closed, a full disk, a limit of file sizes: the true cause is said."""
import subprocess

import pytest

from captures import GOLDEN
from command import on_full_disk
from paths import binary
from processes import TIMEOUT

CAPTURE = GOLDEN / "cpu_raw.bin"


def in_shell(before, *argv):
    """A command that a shell starts after these redirections or limits."""
    return subprocess.run(["bash", "-c", f'{before}; exec "$0" "$@"', binary(), *map(str, argv)], text=True,
                          capture_output=True, timeout=TIMEOUT)


@pytest.mark.parametrize("argv", (["completion", "bash"], ["--help"], ["report", CAPTURE], ["info", "--json", CAPTURE]),
                         ids=lambda argv: argv[0])
def test_a_full_disk(argv):
    done = on_full_disk(*argv)
    assert done.returncode == 1 and "standard output: No space left" in done.stderr


@pytest.mark.parametrize("closed", ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"))
def test_closed_descriptors_are_not_used_for_files(closed, tmp_path):
    done = in_shell(f"exec {closed}", "report", CAPTURE)
    assert done.returncode == (1 if " >" in f" {closed}" else 0), done
    if closed in (">&-", "<&- >&-"):
        assert "cannot write to standard output: it is closed" in done.stderr
    out = tmp_path / "x.folded"
    done = in_shell(f"exec {closed}", "replay", CAPTURE, "-o", out)
    assert done.returncode == 0
    assert out.read_text() == in_shell(":", "replay", CAPTURE).stdout


@pytest.mark.parametrize("argv", (["convert", CAPTURE], ["replay", CAPTURE, "--format", "flamegraph"]),
                         ids=lambda argv: argv[0])
def test_a_limit_of_file_sizes(argv, tmp_path):
    out = tmp_path / "x.folded"
    done = in_shell("ulimit -f 0", *argv, "-o", out)
    assert done.returncode == 1, done
    assert "exceeds the file size limit (ulimit -f)" in done.stderr and not out.exists()
