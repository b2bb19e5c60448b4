#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-top: what a system-wide `tachbpf top` costs on a host with many Pythons, as tables and as a screen.

Each of them works a little, ten times a second. CPU: tachbpf's own, and what its BPF programs take (bpf_stats).
Beside it what shows one process only: py-spy top, and CPython 3.15's profiling.sampling --live.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

sys.path.insert(0, str(HERE))

import interpreters  # noqa: E402
from bench import pyspy  # noqa: E402
from bpf_objects import bpf_programs, bpf_stats  # noqa: E402
from processes import cpu_s, kill  # noqa: E402
from tmux import Terminal  # noqa: E402

TACHBPF = os.environ["TACHBPF"]
WORK = "import time\nwhile True:\n    sum(range(2000))\n    time.sleep(0.1)"


def rss_mib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("bench: tachbpf has ended")


def run_ns():
    """What the program of the ticks has taken."""
    return sum(ns for _, ns in bpf_programs("on_cpu_tick").values())


def next_table(top):
    """The first line of the next table."""
    while True:
        line = top.stdout.readline()
        if not line:
            raise SystemExit("bench: tachbpf has ended")
        if " CPU, " in line and " Hz, " in line:
            return line.strip()


def children(pid):
    return [int(c) for t in Path(f"/proc/{pid}/task").iterdir() for c in (t / "children").read_text().split()]


# In the mount namespace of the profiler, which finds no file of a process in another one.
START_BOTH = f"""
import os, subprocess, sys, time
target = subprocess.Popen([sys.executable, "-S", "-c", {WORK!r}])
time.sleep(2)
os.execv(sys.executable, [sys.executable, "-m", "profiling.sampling", "attach", "--live", "-r", "99", str(target.pid)])
"""


def measure_screen(label, seconds, process_of, *argv):
    """What a program with a screen takes. process_of(shell's pid): its process."""
    with Terminal() as terminal:
        terminal.run(*argv)
        time.sleep(10)
        pid = process_of(int(terminal.query("pane_pid")))
        begin, own, kernel = time.monotonic(), cpu_s(pid), run_ns()
        time.sleep(seconds)
        took = time.monotonic() - begin
        print(terminal.screen().splitlines()[0])
        print(f"{label}: {100 * (cpu_s(pid) - own) / took:.2f} % of a CPU, its ticks "
              f"{(run_ns() - kernel) / took / 1e7:.2f} %, RSS {rss_mib(pid):.1f} MiB", flush=True)


def measure_peers(seconds, scratch):
    spy = pyspy(Path(scratch))
    live = {i.name: i for i in interpreters.discover()}.get("sid-3.15")
    target = subprocess.Popen([sys.executable, "-S", "-c", WORK], start_new_session=True)
    try:
        if spy:
            measure_screen("py-spy top (one process, 100 Hz)", seconds, lambda shell: children(shell)[0], spy, "top",
                           "--pid", target.pid)
        else:
            print("py-spy: missing (pip could not install it)")
    finally:
        kill(target)
    if live:
        measure_screen("profiling.sampling --live (one process, 99 Hz)", seconds, lambda shell: children(shell)[0],
                       *live.command("-c", START_BOTH))


def measure(top, seconds):
    next_table(top)
    begin, own, kernel = time.monotonic(), cpu_s(top.pid), run_ns()
    while time.monotonic() - begin < seconds:
        head = next_table(top)
    took = time.monotonic() - begin
    print(head)
    print(f"tachbpf top: {100 * (cpu_s(top.pid) - own) / took:.2f} % of a CPU, its ticks "
          f"{(run_ns() - kernel) / took / 1e7:.2f} %, RSS {rss_mib(top.pid):.1f} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pythons", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=30)
    args = parser.parse_args()
    pythons = [subprocess.Popen([sys.executable, "-S", "-c", WORK], start_new_session=True)
               for _ in range(args.pythons)]
    try:
        time.sleep(5)
        with bpf_stats(), tempfile.TemporaryDirectory() as scratch:
            measure_screen("tachbpf top, a screen", args.seconds, lambda shell: children(children(shell)[0])[0],
                           TACHBPF, "top")
            measure_peers(args.seconds, scratch)
            top = subprocess.Popen([TACHBPF, "top", "-b", "-i", "2", "--limit", "0"], text=True,
                                   stdout=subprocess.PIPE, start_new_session=True)
            pythons.append(top)
            measure(top, args.seconds)
    finally:
        for process in pythons:
            kill(process)


main()
