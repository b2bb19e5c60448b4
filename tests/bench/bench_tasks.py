#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-tasks: how long it takes to list the asyncio tasks of a process, beside CPython's own
`python -m asyncio pstree`, which the process' own interpreter runs.

The target's tasks wait for a timer, each with three coroutines. CPU is that of the command and all that it starts.
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

import interpreters  # noqa: E402
from processes import kill  # noqa: E402

TACHBPF = os.environ["TACHBPF"]
TARGET = HERE.parent / "e2e" / "targets" / "awaiting.py"


def timed(argv, runs):
    """(median ms, median ms of CPU, tasks in the last output); (None, why, 0)"""
    took, cpu = [], []
    for _ in range(runs):
        begin = time.monotonic()
        done = subprocess.run(["perf", "stat", "-x,", "-e", "task-clock", *argv], capture_output=True, text=True,
                              cwd="/")
        took.append(1e3 * (time.monotonic() - begin))
        if done.returncode:
            return None, done.stderr.strip(), 0
        cpu += [float(line.split(",")[0]) for line in done.stderr.splitlines() if ",task-clock," in line]
    return statistics.median(took), statistics.median(cpu) if cpu else float("nan"), done.stdout.count("(T) ")


def say(label, count, took, cpu, seen):
    if took is None:
        print(f"{label:24} {count:6} tasks   did not run: {cpu}")
        return
    print(f"{label:24} {count:6} tasks  {took:8.1f} ms  CPU {cpu:8.1f} ms  {seen} tasks shown", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--interpreter", default="sid-3.15")
    args = parser.parse_args()
    interpreter = {i.name: i for i in interpreters.discover()}[args.interpreter]
    with tempfile.TemporaryDirectory(dir="/tmp") as scratch:
        os.chmod(scratch, 0o755)
        program = Path(scratch) / "awaiting.py"
        program.write_text(TARGET.read_text())
        for count in (1, 100, 10000):
            target = subprocess.Popen(interpreter.command(program, f"{scratch}/truth", "many", str(count)),
                                      stdout=subprocess.PIPE, text=True, start_new_session=True)
            try:
                target.stdout.readline()
                pid = str(target.pid)
                say("tachbpf dump", count, *timed([TACHBPF, "dump", pid], args.runs))
                say("python -m asyncio pstree", count, *timed(
                    ["nsenter", "-t", pid, "-m", "-r", interpreter.prefix[-1], "-m", "asyncio", "pstree", pid],
                    args.runs))
            finally:
                kill(target)


if __name__ == "__main__":
    main()
