#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-loops: what `tachbpf top --async` costs for each look at a process with an event loop: CPU time of all of
tachbpf's processes, less that of `tachbpf top` without it, over the number of looks.

The targets' loops wait, or are blocked by a callback whose stack has a hundred functions more than the loop's.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import interpreters  # noqa: E402
from processes import cpu_s, family, kill  # noqa: E402

TACHBPF = os.environ["TACHBPF"]
TARGET = """
import asyncio, os, sys
def deep(n):
    if n:
        return deep(n - 1)
    print("ready", flush=True)
    os.read(os.pipe()[0], 1)
async def main():
    tasks = [asyncio.ensure_future(asyncio.sleep(10000)) for _ in range(100)]
    await asyncio.sleep(0.01)
    if sys.argv[1] == "blocked":
        deep(100)
    print("ready", flush=True)
    await asyncio.wait(tasks)
asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())
"""


def cost(pids, seconds, *options):
    """CPU seconds of a `tachbpf top` of these processes, and its looks at each."""
    top = subprocess.Popen([TACHBPF, "top", "--json", "-i", str(seconds), *options, *map(str, pids)], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        top.stdout.readline()       # it has begun, and found all
        before = sum(map(cpu_s, family(top.pid)))
        rows = json.loads(top.stdout.readline())["processes"]
        return sum(map(cpu_s, family(top.pid))) - before, [(row["asyncio"] or {}).get("looks", 0) for row in rows]
    finally:
        kill(top)


def measure(python, script, kind, args):
    processes = [subprocess.Popen(python.command(script, kind), stdout=subprocess.PIPE, text=True, start_new_session=True)
                 for _ in range(args.processes)]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        pids = [process.pid for process in processes]
        plain, _ = cost(pids, args.seconds)
        looked, looks = cost(pids, args.seconds, "--async")
        print(f"{str(python):16} {kind:8} {args.processes} processes: {sum(looks) / args.seconds:6.1f} looks/s, "
              f"{1e6 * (looked - plain) / max(1, sum(looks)):6.1f} us each, "
              f"{100 * (looked - plain) / args.seconds:5.2f} % of a CPU more (top itself: {100 * plain / args.seconds:.2f} %)", flush=True)
    finally:
        for process in processes:
            kill(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--names", default="pyenv-3.8.18,system-3.11,trixie-3.13,sid-3.15")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        script = Path(place, "loops_target.py")
        script.write_text(TARGET)
        for python in interpreters.discover():
            if python.name in args.names.split(",") and not python.root:
                for kind in "idle", "blocked":
                    measure(python, script, kind, args)


if __name__ == "__main__":
    main()
