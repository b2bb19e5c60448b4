#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-tasks: how long it takes to list the asyncio tasks of a process, beside CPython's own
`python -m asyncio pstree`, which the process' own interpreter runs.

The target's tasks wait for a timer, each with three coroutines, and one gathers them. CPU is that of the command and
all that it starts. Below 3.14 the tasks are read out of sets, those of "pure" out of dicts, and pstree is not there.
"""
import argparse
import os
import re
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
TARGETS = HERE.parent / "e2e" / "targets"


def shown_in(text):
    """The tasks that its lines stand for."""
    return text.count("(T) ") + sum(map(int, re.findall(r"and (\d+) more at the same lines", text)))


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
    return statistics.median(took), statistics.median(cpu) if cpu else float("nan"), shown_in(done.stdout)


def say(label, count, took, cpu, seen):
    if took is None:
        print(f"{label:36} {count:6} tasks   did not run: {cpu}")
        return
    print(f"{label:36} {count:6} tasks  {took:8.1f} ms  CPU {cpu:8.1f} ms  {seen} tasks shown", flush=True)


def measure(interpreter, scratch, count, pure, runs):
    tells = interpreter.minor >= (3, 14)
    program = Path(scratch) / ("awaiting.py" if tells else "home_tasks.py")
    program.write_text((TARGETS / program.name).read_text())
    plan = ["many" if tells else "gathered", str(count), *(["pure"] if pure else [])]
    label = f"{interpreter.name}{' pure' if pure else ''}"
    target = subprocess.Popen(interpreter.command(program, f"{scratch}/truth", *plan), stdout=subprocess.PIPE,
                              text=True, start_new_session=True)
    try:
        target.stdout.readline()
        pid = str(target.pid)
        say(label + ": tachbpf dump", count, *timed([TACHBPF, "dump", pid], runs))
        if tells:
            say(label + ": pstree", count, *timed(
                ["nsenter", "-t", pid, "-m", "-r", interpreter.prefix[-1], "-m", "asyncio", "pstree", pid], runs))
    finally:
        kill(target)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--interpreters", nargs="+", default=["sid-3.15", "pyenv-3.12.1", "pyenv-3.8.18"])
    args = parser.parse_args()
    found = {i.name: i for i in interpreters.discover()}
    with tempfile.TemporaryDirectory(dir="/tmp") as scratch:
        os.chmod(scratch, 0o755)
        for name in args.interpreters:
            for pure in ((False,) if found[name].minor >= (3, 14) else (False, True)):
                for count in (1, 100, 10000):
                    measure(found[name], scratch, count, pure, args.runs)


if __name__ == "__main__":
    main()
