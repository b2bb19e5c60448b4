# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the tests of recording share: rights, scripts of their own, what is in a recording."""
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tachbpf._program import find

TIMEOUT = 300       # a safety net for what hangs, never a verdict
SAMPLES = 20        # of work that certainly was recorded
PRELUDE = """
import os, sys, threading, time
sys.path.insert(0, {here!r})
import tachbpf
from work import burn, busy_work, other_work
""".format(here=str(Path(__file__).resolve().parent))


def _may_record():
    if os.geteuid() != 0:
        return "recording needs root"
    done = subprocess.run([find(), "doctor"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return "" if done.returncode == 0 else f"this machine cannot record: {done.stdout.strip().splitlines()[-1]}"


CANNOT = _may_record()      # why; empty: it can
needs_root = pytest.mark.skipif(bool(CANNOT), reason=CANNOT)


def in_thread(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()


def totals(path, *more):
    """Samples in which each function was anywhere in the stack, as `tachbpf report` has them."""
    said = subprocess.run([find(), "report", "--json", "--limit", "0", *more, "--", str(path)], stdout=subprocess.PIPE, check=True)
    return {row["function"]: row["total"] for row in json.loads(said.stdout)["rows"]}


def verified(path):
    """Whether a file is complete and sound."""
    return subprocess.run([find(), "info", "--verify", str(path)], stdout=subprocess.DEVNULL, check=False).returncode == 0


def run_script(script, *args, **options):
    """Runs a script that has recorded's names; returns what it printed."""
    done = subprocess.run([sys.executable, "-c", PRELUDE + script, *map(str, args)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT, check=False, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


def wait_until(condition, what):
    """Waits for an event that no descriptor tells of."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, f"not in time: {what}"
        time.sleep(0.01)
