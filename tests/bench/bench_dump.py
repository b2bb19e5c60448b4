#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-dump: how long it takes to see what all threads of a process do, beside py-spy dump.

The whole command, and what of it is the look: the time between the first and the last thing that is done to
the target. The target's threads wait for a lock; py-spy stops it, tachbpf does not. Beside another tachbpf (--beside)
in the same rounds.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))
sys.path.insert(0, str(HERE))

import interpreters  # noqa: E402
from bench import pyspy  # noqa: E402
from processes import kill  # noqa: E402

TACHBPF = os.environ["TACHBPF"]
HUNG = HERE.parent / "e2e" / "targets" / "hung.py"


def timed(commands, runs):
    """label -> (median ms, lines of the last output); (None, why). In turn: what else runs disturbs all alike."""
    took, last = {}, {}
    for _ in range(runs):
        for label, argv in commands.items():
            begin = time.monotonic()
            last[label] = subprocess.run(argv, capture_output=True, text=True)
            took.setdefault(label, []).append(1e3 * (time.monotonic() - begin))
    return {label: (None, done.stderr.strip()) if done.returncode else
            (statistics.median(took[label]), done.stdout.splitlines()) for label, done in last.items()}


def say(label, threads, took, output):
    if took is None:
        print(f"{label:20} {threads:6} threads   did not run: {output}")
        return
    seen = sum(line.startswith("Thread ") for line in output)
    print(f"{label:20} {threads:6} threads  {took:8.1f} ms  {seen} threads shown", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--interpreter", default="system-3.11")
    parser.add_argument("--beside", help="another tachbpf to compare with")
    args = parser.parse_args()
    interpreter = {i.name: i for i in interpreters.discover()}[args.interpreter]
    with tempfile.TemporaryDirectory() as scratch:
        spy = pyspy(Path(scratch))
        for threads in (1, 100, 1000):
            target = subprocess.Popen(interpreter.command(HUNG, f"{scratch}/truth", f"many:{threads - 1}"),
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
            try:
                target.stdout.readline()
                commands = {"tachbpf dump": [TACHBPF, "dump", str(target.pid)]}
                if args.beside:
                    commands["before"] = [args.beside, "dump", str(target.pid)]
                if spy:
                    commands["py-spy dump"] = [spy, "dump", "--pid", str(target.pid)]
                    commands["py-spy --nonblocking"] = [spy, "dump", "--nonblocking", "--pid", str(target.pid)]
                for label, result in timed(commands, args.runs).items():
                    say(label, threads, *result)
            finally:
                kill(target)
        if not spy:
            print("py-spy: missing (pip could not install it)")


main()
