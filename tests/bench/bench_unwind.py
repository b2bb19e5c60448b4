#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-unwind: how long unwind tables take to build, beside who prints the same information.

    BENCH_UNWIND_BUILD=build/tests/bench/bench_unwind_build tests/bench/bench_unwind.py [FILE...]

Files are in the page cache. CPU time, medians of five runs; peers run once, for at most 20 seconds ("-").
"""
import glob
import os
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

FOUND = ("/usr/lib/*/libc.so.6", "/usr/lib/*/libpython3*.so.1.0",
         "~/.pyenv/versions/3.13.*/lib/libpython3*.so.1.0", "/usr/lib/llvm-*/lib/libLLVM-*.so",
         "/usr/lib/*/libLLVM*.so.*")
PEERS = (("readelf", ["readelf", "--debug-dump=frames-interp"]),
         ("eu-readelf", ["eu-readelf", "--debug-dump=frames"]))
ROUNDS = 5
PATIENCE_S = 20
AIMS = "aims: libpython <= 150 ms, 200 MB <= 3 s"


def files():
    if sys.argv[1:]:
        return sys.argv[1:]
    found = [os.path.realpath(p) for pattern in FOUND for p in glob.glob(os.path.expanduser(pattern))]
    return sorted(set(found), key=os.path.getsize)


def cpu_ms(argv):
    """CPU time of the command, milliseconds; None: it is not here, fails, or takes too long."""
    if not shutil.which(argv[0]):
        return None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=PATIENCE_S)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def ours(program, path):
    """Medians of hash and table, ms; functions, rows, bytes, KiB."""
    rows = [subprocess.run([program, path], capture_output=True, text=True, check=True).stdout.split()
            for _ in range(ROUNDS)]
    times = [statistics.median(float(row[i]) for row in rows) for i in (0, 1)]
    return (*times, *map(int, rows[0][2:]))


def main():
    program = os.environ["BENCH_UNWIND_BUILD"]
    print(AIMS)
    print(f"{'file':36} {'MB':>5} {'hash ms':>8} {'table ms':>8} {'functions':>9} {'rows':>8} "
          f"{'table KiB':>9} {'RSS MiB':>7} " + " ".join(f"{name + ' ms':>13}" for name, _ in PEERS))
    for path in files():
        digest, table, functions, rows, total, kib = ours(program, path)
        peers = (cpu_ms([*argv, path]) for _, argv in PEERS)
        print(f"{Path(path).name:36.36} {os.path.getsize(path) / 1e6:5.0f} {digest:8.1f} {table:8.1f} "
              f"{functions:9} {rows:8} {total // 1024:9} {kib / 1024:7.0f} "
              + " ".join(f"{ms:13.0f}" if ms is not None else f"{'-':>13}" for ms in peers), flush=True)


if __name__ == "__main__":
    main()
