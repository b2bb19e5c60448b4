#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-heap-why: what looking for who keeps the objects of a type takes in a large heap (heap_of.py).

Seconds and CPU seconds are the worker's own. A scan is one reading of all writable memory; their number depends on how
long the chains are.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import interpreters  # noqa: E402
from processes import kill  # noqa: E402

TACHBPF = os.environ.get("TACHBPF", "tachbpf")


def why(pid, name):
    done = subprocess.run([TACHBPF, "heap", "--json", str(pid), "--why", name], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"bench: nobody was found who keeps {name}")
    process, = json.loads(done.stdout)["processes"]
    return process


def spread(values, unit):
    return f"{statistics.median(values):.2f} {unit} ({min(values):.2f} to {max(values):.2f})"


def costs(pid, name, repeats):
    seen = [why(pid, name) for _ in range(repeats)]
    last = seen[-1]
    best = last["chains"][0]
    print(f"  {name}, {last['objects']:,}: {spread([c['took'] for c in seen], 's')}, CPU "
          f"{spread([c['cpu'] for c in seen], 's')}, {last['scans']} scans, {last['bytes_read'] / 1e9:.2f} GB read, "
          f"{100 * best['share']:.0f} % {best['chain']}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--mib", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("interpreters", nargs="*", default=["system-3.11"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-why-", dir="/tmp") as name:
        shutil.copy(HERE / "heap_of.py", name)
        Path(name).chmod(0o755)
        for interpreter in interpreters.discover():
            if interpreter.name not in args.interpreters:
                continue
            print(f"{interpreter}, {args.mib} MiB of objects, median and range:", flush=True)
            argv = [*map(str, interpreter.command(f"{name}/heap_of.py", args.mib, 1))]
            process = subprocess.Popen(argv, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       start_new_session=True)
            try:
                if process.stdout.readline() != "ready\n":
                    raise SystemExit(f"bench: {argv} did not start")
                for kind in "__main__.Session", "bytes", "float", "str":
                    costs(process.pid, kind, args.repeats)
            finally:
                kill(process)


main()
