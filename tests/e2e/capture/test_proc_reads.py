# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the profiler reads of a process in /proc: once, and once more where a race must be closed."""
import re
import shutil
import subprocess
import sys

import pytest

from paths import binary
from present import absent
from processes import TIMEOUT, kill

BUSY = "print('ready', flush=True)\nwhile True: pass\n"


@pytest.fixture
def busy():
    process = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    yield process
    kill(process)


def test_a_plain_pid_is_read_once_ahead_and_once(busy, tmp_path):
    """
    Ahead: while the verifier works, a worker looks for the files that it will need, unless it is asked first. Its
    stat is opened before, at the begin and at the end of each look, which sees so that it was of one program; and
    once more to close a race: it may have begun to exit while its entry was made.
    """
    if not shutil.which("strace"):
        absent("strace is not installed")
    trace = tmp_path / "trace"
    done = subprocess.run(
        ["strace", "-f", "-e", "trace=open,openat", "-o", trace, binary(), "-p", str(busy.pid),
         "-d", "0.5", "--no-source", "-o", tmp_path / "x.tach"], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    opened = re.findall(rf'"/proc/{busy.pid}/(\w+)"', trace.read_text())
    looks = opened.count("maps")
    assert 1 <= looks <= 2 and opened.count("stat") == 3 * looks + 1 and opened.count("cmdline") == 1, opened
