#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-files: our TACH writer, reader and conversion beside CPython 3.15's (tests/e2e/lib/file_rates.py)."""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import file_rates  # noqa: E402
import interpreters  # noqa: E402

DEPTHS = (10, 60)


def rates(name, ours, theirs, unit="M samples/s", scale=1e6):
    line = f"{name:28} {ours / scale:8.2f} {unit}"
    if theirs:
        line += f"   CPython {theirs / scale:8.3f}   ratio {ours / theirs:6.2f}"
    print(line, flush=True)


def bench_depth(tool, tachbpf, python, scratch, depth):
    ours, theirs = file_rates.compare(tool, tachbpf, python, scratch, depth)
    rates(f"write zstd, depth {depth}", ours.write, theirs.write)
    rates(f"write uncompressed, depth {depth}", ours.write_plain, 0)
    rates(f"read zstd, depth {depth}", ours.read, theirs.read)
    rates(f"size zstd, depth {depth}", ours.size, theirs.size, "bytes/sample", 1)
    line = f"{f'collapsed, depth {depth}':28} {ours.collapsed:8.3f} s for {file_rates.SAMPLES} samples"
    if theirs.collapsed:
        line += f"   CPython {theirs.collapsed:8.2f}   ratio {theirs.collapsed / ours.collapsed:6.1f}"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--huge", action="store_true", help="also 2^32 samples (a minute)")
    options = parser.parse_args()
    tool, tachbpf = os.environ["BENCH_FILES"], os.environ["TACHBPF"]
    python = next((i for i in interpreters.discover() if i.name == "sid-3.15"), None)
    if not python:
        print("no CPython 3.15: nothing to compare with (sudo make interpreters)")
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-", dir="/tmp") as name:
        scratch = Path(name)
        scratch.chmod(0o755)
        for depth in DEPTHS:
            bench_depth(tool, tachbpf, python, scratch, depth)
        if options.huge:
            subprocess.run([tool, "huge", scratch / "huge.tach"], check=True)


main()
