# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the HTML reports cost: conversion beside CPython 3.15's, size, and time to the first picture.

    bench_html.py [DIRECTORY]

TACHBPF names the binary, TACHBPF_SID a root directory with a python3.15 (then root is needed).
Times are the best of three.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPO / "tests" / "e2e" / "lib"))
import browser as chromium  # noqa: E402
import make_tach  # noqa: E402

BINARY = Path(os.environ.get("TACHBPF", REPO / "build" / "tachbpf")).resolve()
# name: distinct stacks, samples, greatest depth
PROFILES = {"depth 10": (5000, 400000, 10), "depth 60": (5000, 400000, 60),
            "100,000 stacks": (100000, 400000, 60)}


def timed(argv, runs=3):
    best = float("inf")
    for _ in range(runs):
        start = time.monotonic()
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        best = min(best, time.monotonic() - start)
    return best


def cpython_s(root, path, report):
    """None: there is none."""
    if not root or os.geteuid() or not os.path.exists(f"{root}/usr/bin/python3.15"):
        return None
    with tempfile.TemporaryDirectory(dir=f"{root}/tmp") as scratch:
        shutil.copy(path, f"{scratch}/x.bin")
        inside = f"/tmp/{os.path.basename(scratch)}"
        return timed(["chroot", root, "python3.15", "-m", "profiling.sampling", "replay",
                      f"--{report}", "-o", f"{inside}/out.html", f"{inside}/x.bin"], 1)


def first_picture_ms(out):
    if not chromium.find():
        return None
    with chromium.Browser() as b:
        times = []
        for _ in range(3):
            page = b.open(out)
            times.append(page.run("report.ready"))
            page.close()
        return min(times)


def main():
    root = os.environ.get("TACHBPF_SID")
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as scratch:
        print(f"{'profile':16}{'report':12}{'ours s':>8}{'CPython s':>11}{'times':>7}"
              f"{'KiB':>8}{'picture ms':>12}")
        for name, (stacks, samples, depth) in PROFILES.items():
            path = os.path.join(scratch, "x.tach")
            make_tach.synthetic(path, stacks, samples, depth)
            for report in ("flamegraph", "heatmap"):
                out = os.path.join(scratch, "out.html")
                ours = timed([BINARY, "replay", path, "--format", report, "-o", out])
                theirs = cpython_s(root, path, report)
                picture = first_picture_ms(out)
                print(f"{name:16}{report:12}{ours:8.3f}{theirs or float('nan'):11.1f}"
                      f"{(theirs or float('nan')) / ours:7.0f}{os.path.getsize(out) // 1024:8}"
                      f"{picture or float('nan'):12.0f}")


main()
