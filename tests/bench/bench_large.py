#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-large: what report, flamegraph and diff take for a recording of 1 GiB in 400 files, and for one of 20,000
files: CPU seconds, seconds of the clock, and MiB. Aim: 8 s and 256 MiB. --beside PROGRAM: beside another build's.

The samples are large_files.c's. Of 1 GiB, five processes at a time are the same byte for byte: making it would take
longer than reading it.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e" / "lib"))

from paths import binary  # noqa: E402

COPIES = 5
CPUS = os.sched_getaffinity(0)


def measure(program, argv, cpus, what):
    start = time.monotonic()
    child = subprocess.Popen([program, *map(str, argv)], stdout=subprocess.DEVNULL,
                             preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    print(f"  {what:46} {usage.ru_utime + usage.ru_stime:6.2f} s CPU {time.monotonic() - start:7.2f} s "
          f"{usage.ru_maxrss / 1024:7.0f} MiB{'' if status == 0 else '  FAILED'}", flush=True)


def compare(before, *argv, note=""):
    """Of the other build, and of ours on one CPU and on all."""
    words = " ".join(str(word) for word in argv if not isinstance(word, Path)) + note
    if before:
        measure(before, argv, CPUS, f"{words}, before")
    measure(binary(), argv, {min(CPUS)}, f"{words}, one CPU")
    measure(binary(), argv, CPUS, f"{words}, {len(CPUS)} CPUs")


def halves(directory, scratch):
    """Two directories with every other file of it each."""
    both = scratch / f"{directory.name}-a", scratch / f"{directory.name}-b"
    for half in both:
        half.mkdir()
    for i, path in enumerate(sorted(directory.iterdir())):
        os.link(path, both[i % 2] / path.name)
    return both


def commands(name, directory, scratch, before):
    size = sum(p.stat().st_size for p in directory.iterdir())
    print(f"{name}: {size / (1 << 20):.0f} MiB, {len(list(directory.iterdir())):,} files", flush=True)
    compare(before, "report", directory)
    compare(before, "replay", "--format", "flamegraph", directory, "-o", scratch / "page.html")
    compare(before, "diff", *halves(directory, scratch), note=" of its halves")
    compare(before, "diff", directory, directory, note=" of two")


def copy(source, target):
    """Each file so many times, as other processes."""
    target.mkdir()
    for path in source.iterdir():
        pid, name = path.name.split("-", 1)
        for i in range(COPIES):
            shutil.copy(path, target / f"{int(pid) + 100000 * i}-{name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--processes", type=int, default=20000)
    parser.add_argument("--beside", metavar="PROGRAM")
    args = parser.parse_args()
    tool = os.environ["LARGE_FILES"]
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-", dir="/var/tmp") as name:
        scratch = Path(name)
        for part in ("few", "many"):
            (scratch / part).mkdir()
        made = subprocess.run([tool, scratch / "few", "80", str((args.mib << 20) // COPIES)], check=True,
                              capture_output=True, text=True)
        copy(scratch / "few", scratch / "large")
        print(f"{int(made.stdout) * COPIES:,} samples")
        commands("large files", scratch / "large", scratch, args.beside)
        subprocess.run([tool, scratch / "many", str(args.processes), str(args.processes * 500), "small"], check=True,
                       stdout=subprocess.DEVNULL)
        commands("many files", scratch / "many", scratch, args.beside)


main()
