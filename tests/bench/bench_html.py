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
# name: distinct stacks, samples, greatest depth; with jobs, as threads of an application
PROFILES = {"jobs": (5000, 400000, 60, True), "depth 10": (5000, 400000, 10, False),
            "depth 60": (5000, 400000, 60, False), "100,000 stacks": (100000, 400000, 60, False),
            "jobs, 100,000": (100000, 400000, 60, True)}


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


def first_picture(out):
    """Time to it and CPU time of the page's thread until then, in ms; bins of time that the page has."""
    if not chromium.find():
        return float("nan"), float("nan"), 0
    with chromium.Browser() as b:
        runs = []
        for _ in range(3):
            page = b.open("about:blank", wait=False)
            page.call("Performance.enable", timeDomain="threadTicks")
            page.goto(out)
            used = {m["name"]: m["value"] for m in page.call("Performance.getMetrics")["metrics"]}
            runs.append((page.run("report.ready"), 1000 * used["TaskDuration"]))
            bins = page.run("report.graph?.model.times?.cnt || 0")
            page.close()
        return *map(min, zip(*runs)), bins


def main():
    root = os.environ.get("TACHBPF_SID")
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as scratch:
        print(f"{'profile':16}{'report':12}{'ours s':>8}{'CPython s':>11}{'times':>7}"
              f"{'bytes':>10}{'picture ms':>12}{'CPU ms':>8}{'bins':>6}")
        for name, (stacks, samples, depth, jobs) in PROFILES.items():
            path = os.path.join(scratch, "x.tach")
            make_tach.synthetic(path, stacks, samples, depth, jobs=jobs, start_us=10**9)
            for report in ("flamegraph", "heatmap"):
                out = os.path.join(scratch, "out.html")
                ours = timed([BINARY, "replay", path, "--format", report, "-o", out])
                theirs = cpython_s(root, path, report)
                picture, cpu, bins = first_picture(out)
                print(f"{name:16}{report:12}{ours:8.3f}{theirs or float('nan'):11.1f}"
                      f"{(theirs or float('nan')) / ours:7.0f}{os.path.getsize(out):10}"
                      f"{picture:12.0f}{cpu:8.0f}{bins:6}")


main()
