#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-live-files: the size of live recordings, beside the files that CPython 3.15's own writer makes of
the same samples.

Each recording is made as a user would make it; then CPython reads each file, and writes its samples again, in the
order of their times. A directory's files are added up, all parts of them.
"""
import argparse
import signal
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import interpreters  # noqa: E402
import live_files  # noqa: E402

def show(name, sizes):
    line = f"{name:52} {sizes.samples:>9,} samples {sizes.files:>4} files  tachbpf {sizes.ours / 1000:9.1f} KB"
    if sizes.theirs:
        line += f"  CPython {sizes.theirs / 1000:9.1f} KB  ratio {sizes.ours / sizes.theirs:5.3f}"
        line += f"  without first lines {(sizes.ours - sizes.first_lines) / sizes.theirs:5.3f}"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--keep", help="a directory for the recordings")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    known = interpreters.discover()
    python = next(i for i in known if i.name == "system-3.11")
    peer = next((i for i in known if i.name == "sid-3.15"), None)
    if not peer:
        print("no CPython 3.15: nothing to compare with (sudo make interpreters)")
    cases = (
        (f"one busy process, {options.seconds} s at 999 Hz", live_files.record_busy, options.seconds),
        ("300 short-lived processes, 999 Hz", live_files.record_short, 300),
        (f"50 threads, wall, {options.seconds} s at 999 Hz", live_files.record_threads, options.seconds),
        (f"300 processes, -a, {options.seconds} s at 99 Hz", live_files.record_many, options.seconds, 300),
        (f"300 processes, -a, wall, {options.seconds} s at 99 Hz", live_files.record_many, options.seconds, 300, "-m", "wall"),
    )
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-", dir="/tmp") as scratch:
        base = Path(options.keep or scratch)
        base.mkdir(exist_ok=True)
        base.chmod(0o755)
        Path(scratch).chmod(0o755)
        for name, function, *args in cases:
            if options.only not in name:
                continue
            out = base / name.replace(" ", "-").replace(",", "")
            function(out, python.command(), *args)
            show(name, live_files.compare(out, peer, Path(scratch)))


main()
