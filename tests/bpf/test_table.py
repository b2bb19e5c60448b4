# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A host with more Python processes than the table of processes has places: some are not profiled, and
that is counted."""
import contextlib
import time

from bpf_objects import map_entries
from capture_program import Capture
from processes import TIMEOUT
from selecting import Burner

PLACES, PYTHONS = 4, 6


def test_a_process_beyond_the_table_is_counted(root, python, monkeypatch):
    monkeypatch.setenv("PID_MAX", str(PLACES))
    with contextlib.ExitStack() as stack:
        pids = {stack.enter_context(Burner(python)).pid for _ in range(PYTHONS)}
        capture = stack.enter_context(Capture(99, "cpu"))
        end, now = time.monotonic() + TIMEOUT, capture.begin
        while not now["table_full"]:
            assert time.monotonic() < end, now
            time.sleep(0.05)
            now = capture.say("sums")
        held = map_entries(capture.process.pid, "py_procs")
        assert len(held) <= PLACES
        assert pids - held
