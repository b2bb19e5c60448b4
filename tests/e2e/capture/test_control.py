# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--control: a program that started the profiler knows when it samples, and ends it without a signal."""
import json
import subprocess

import pytest

from paths import binary
from processes import TIMEOUT, kill, ready
from recording import succeeded, tachbpf

# Works from its first line on, so that what was recorded is known.
WORK = """
import sys
def told():
    for x in range(3_000_000): x * x
print("ready", flush=True)
for line in sys.stdin:
    told()
    print("done", flush=True)
"""


@pytest.fixture
def controlled(out):
    """A program that works when it is told to, and its recording, which has begun."""
    program = subprocess.Popen(["/usr/bin/python3", "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    assert program.stdout.readline() == "ready\n"
    recorder = subprocess.Popen([binary(), "record", "--control", "-q", "-p", str(program.pid), "-o", out / "x.tach"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True)
    try:
        assert recorder.stdout.readline() == "recording\n"
        yield program, recorder
    finally:
        kill(recorder)
        kill(program)


def functions(path):
    rows = json.loads(succeeded(tachbpf("report", "--json", path)).stdout)["rows"]
    return {row["function"]: row["self"] for row in rows}


@pytest.mark.parametrize("end", ["a line", "the end"])
def test_it_samples_from_its_word_until_it_is_told(controlled, out, end):
    program, recorder = controlled
    program.stdin.write("work\n")
    program.stdin.flush()
    assert program.stdout.readline() == "done\n"
    if end == "a line":
        recorder.stdin.write("stop\n")
        recorder.stdin.flush()
    else:
        recorder.stdin.close()
    assert recorder.wait(TIMEOUT) == 0, recorder.stderr.read()
    assert recorder.stdout.read() == ""
    assert program.poll() is None
    assert functions(out / "x.tach")["told"] > 20


def test_it_ends_at_once_if_standard_input_has_ended(out):
    with ready(["/usr/bin/python3", "-c", "import time; print('ready', flush=True); time.sleep(3600)"]) as program:
        done = tachbpf("record", "--control", "-p", program.pid, "-o", out / "y.tach")     # stdin is /dev/null
    assert succeeded(done).stdout == "recording\n"
