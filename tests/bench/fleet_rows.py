#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-rows: Parquet of a host in an hour: rows and bytes, and what making it takes.

The agent's own pprof files of programs that use the standard library (mixed.py), converted after a
quarter, half and all of the time, because the same stacks come again. TACHBPF_PYTHON names a Python
that has pyarrow.
"""
import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e" / "lib")]

import cgroups  # noqa: E402
from bench_agent import measured, pythons  # noqa: E402
from paths import binary  # noqa: E402

COUNT = "import sys, pyarrow.parquet as pq; print(sum(pq.ParquetFile(p).metadata.num_rows for p in sys.argv[1:]))"


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def convert(windows, place, *flags):
    """(rows, bytes, CPU seconds) of all windows so far."""
    shutil.rmtree(place, ignore_errors=True)
    before = used()
    subprocess.run([binary(), "convert", "-q", "--format", "parquet", *flags, "-o", f"{place}/",
                    *sorted(windows.glob("*.pb.gz"))], check=True)
    cpu = used() - before
    parts = list(place.rglob("*.parquet"))
    rows = subprocess.run([os.environ.get("TACHBPF_PYTHON", "python3"), "-I", "-c", COUNT, *parts], check=True,
                          capture_output=True, text=True).stdout
    return int(rows), sum(p.stat().st_size for p in parts), cpu


def measure(tree, scratch, args):
    windows = scratch / "pprof"
    flags = ("--rate", args.rate, "--pprof-dir", windows, "--pprof-keep", 1000000)
    with pythons(tree, scratch, args.services, args.services, "mixed.py", "SEED") as where, \
            measured(tree, scratch, *flags, "--cgroup", where):
        begin = time.monotonic()
        for part in (4, 2, 1):
            time.sleep(max(begin + 60 * args.minutes / part - time.monotonic(), 0))
            pprof = sum(p.stat().st_size for p in windows.glob("*.pb.gz"))
            for name, more in (("lines", ()), ("functions", ("--no-lines",))):
                rows, size, cpu = convert(windows, scratch / "parquet", *more)
                print(f"{args.minutes / part:7.1f} {name:10} {pprof:11,} {rows:8,} {size:11,} {size / max(rows, 1):6.1f} {cpu:6.2f}",
                      flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--services", type=int, default=20)
    parser.add_argument("--rate", type=int, default=19)
    parser.add_argument("--minutes", type=float, default=60)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))      # its Pythons end, too
    print("minutes            pprof bytes     rows       bytes  a row  CPU s")
    with tempfile.TemporaryDirectory(prefix="tachbpf-rows-") as directory:
        Path(directory).chmod(0o755)
        with cgroups.Tree(cgroups.v2()) as tree:
            measure(tree, Path(directory), args)


if __name__ == "__main__":
    main()
