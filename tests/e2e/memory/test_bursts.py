# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--allocations of a program that calls its allocator too often: in bursts, against the program's own book."""
import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory_runs import Rows
from processes import TIMEOUT, kill
from recording import Recording, succeeded, tachbpf

PROGRAM = Path(__file__).parent.parent / "targets/memory/busy.py"
FUNCTIONS = ("keeps", "drops", "turns", "some")
SAMPLED = "sampled: 100 ms of each second"
EXACT = "recording blocks from now on"
BURST = "of its speed"      # -v, once in each burst from the second on


class Said:
    """What a recording says, line by line."""

    def __init__(self, recording):
        self.recording, self.lines = recording, []

    def wait(self, words, times=1):
        """Until so many lines have had one of these words. The last line."""
        end = time.monotonic() + TIMEOUT
        while sum(any(w in line for w in words) for line in self.lines) < times:
            line = self.recording.process.stderr.readline()
            assert line and time.monotonic() < end, self.lines
            self.lines.append(line)
        return self.lines[-1]


@contextlib.contextmanager
def busy(book, **env):
    with subprocess.Popen([sys.executable, PROGRAM, book], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          start_new_session=True, env=dict(os.environ, **env)) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            kill(process)


def ask(process):
    print(file=process.stdin, flush=True)


@contextlib.contextmanager
def bursts(process, out):
    """A recording in bursts, and what it says."""
    if not has_bursts():
        pytest.skip("bursts need Linux 6.6")
    argv = ["-v", "-m", "mem", "--allocations", "-p", process.pid, "-o", out, "--json"]
    with Recording(argv) as recording:
        said = Said(recording)
        if SAMPLED not in said.wait((SAMPLED, EXACT)):
            pytest.skip("this machine is too busy: the program got so little CPU time that each block can be recorded")
        yield recording, said


def has_bursts():
    return tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) >= (6, 6)


def test_it_is_sampled(out):
    """It says so, and so does the file; each block stands for ten or more."""
    path = out / "busy.mlyze"
    with busy(out / "book", BUSY_SPIN="0") as process, bursts(process, path) as (recording, said):
        said.wait((BURST,))
        summary = succeeded(recording.stop()).summary
    rows, text = Rows(path), succeeded(tachbpf("mem", path)).stdout
    assert "Memory that these functions allocated and that is not freed" in text and "--since" not in text, text
    file, = rows.said["files"]
    recorded = file["recorded"]
    assert recorded["mode"] == "sampled" and summary["memory"]["exact"] is False
    assert recorded["bursts"]["count"] == summary["memory"]["bursts"] >= 2
    assert recorded["bursts"]["watched_us"] >= 100_000
    assert recorded["bursts"]["allocator"] == "glibc"
    for row in rows.said["rows"]:
        if row["function"] in FUNCTIONS:
            assert row["touched"] >= 10 * row["allocations"] * 1000 and row["touched_error"] > 0, row


@pytest.mark.truth
def test_shares_by_function(out):
    """What each function was given, and what it holds, within three of the errors that are said."""
    book, path = out / "book", out / "busy.mlyze"
    with busy(book, BUSY_SPIN="10000") as process, bursts(process, path) as (recording, said):
        ask(process)
        said.wait((BURST,), times=60)
        ask(process)
        assert process.stdout.readline() == "done\n"
        succeeded(recording.stop())
    rows, truth = Rows(path), json.loads(book.read_text())
    found = {row["function"]: row for row in rows.said["rows"] if row["function"] in FUNCTIONS}
    for what in ("touched", "held"):
        books = {f: truth[f][what] for f in FUNCTIONS}
        seen = {f: found[f][what] for f in FUNCTIONS}
        total, all_seen = sum(books.values()), sum(seen.values())
        for f in FUNCTIONS:
            error = max(found[f][what + "_error"] / all_seen, 0.005)
            assert abs(seen[f] / all_seen - books[f] / total) <= 3 * error, (what, f, books, seen, found[f])
        scale = rows.said["files"][0][what + "_error"] / all_seen
        assert abs(all_seen / total - 1) <= max(3 * scale, 0.25), (what, books, seen)
