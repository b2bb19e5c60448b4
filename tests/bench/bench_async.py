#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bench_async.py - what --async costs a sample in a task: with it and without it at the same time, by bpf_stats.

No peer beside it: CPython's --async-aware does not attach to a process in another root, and where it starts
the program itself, its own CPU time cannot be told from the program's. root; needs sid-3.15, and
those of OLD (make interpreters). ROUNDS, SECONDS: how often and how long. With an argument only those of OLD, where
user space reads who awaits a task: at two rates, with our own CPU time and how many stacks have their chain.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e" / "lib")]

from bpf_objects import bpf_stats  # noqa: E402
from paths import binary  # noqa: E402
from present import need  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

ROUNDS, SECONDS, RATE = int(os.environ.get("ROUNDS", "6")), float(os.environ.get("SECONDS", "3")), 4999
PROGRAM = """
import asyncio, sys, time
async def work():
    while True:
        end = time.thread_time() + 0.001
        while time.thread_time() < end:
            pass
        await asyncio.sleep(0)
async def awaits(depth):
    await (asyncio.gather(*(work() for _ in range(100))) if not depth else asyncio.create_task(awaits(depth - 1)))
print("ready", flush=True)
asyncio.run(awaits(int(sys.argv[1])))
"""
AWAITING = (1, 2, 4, 8, 16)     # tasks that await one another
OLD = ("pyenv-3.8.18", "pyenv-3.9.18", "pyenv-3.10.13", "system-3.11", "pyenv-3.12.1", "sid-3.13")


def tick_of(recording):
    """(run time in ns, runs) of its on_cpu_tick."""
    texts = [p.read_text() for p in Path(f"/proc/{recording.process.pid}/fdinfo").iterdir()]
    its = {int(i) for text in texts for i in re.findall(r"^prog_id:\s+(\d+)", text, re.M)}
    shown = json.loads(subprocess.run(["bpftool", "-j", "prog", "show"], check=True,
                                      capture_output=True).stdout)
    tick = next(p for p in shown if p["id"] in its and p["name"] == "on_cpu_tick")
    return tick.get("run_time_ns", 0), tick.get("run_cnt", 0)


def measure(pid, scratch, rate=RATE):
    """ns a sample without and with --async, and the latter's summary; both record at once, as other load changes both."""
    options = [[], ["--async"]]
    recordings = [Recording(["-p", pid, "-r", rate, "-o", scratch / f"{i}.tach", "--force", "--json", *o])
                  for i, o in enumerate(options)]
    with recordings[0], recordings[1]:
        for recording in recordings:
            recording.wait_recording()
        before = [tick_of(r) for r in recordings]
        time.sleep(SECONDS)
        after = [tick_of(r) for r in recordings]
        summaries = [succeeded(r.stop()).summary for r in recordings]
    hits = [s["samples"] / s["ticks"]["delivered"] for s in summaries]
    return [(b[0] - a[0]) / (b[1] - a[1]) / hit for a, b, hit in zip(before, after, hits)] + summaries[1:]


def rounds_of(python, script, depth, scratch, rate=RATE):
    with subprocess.Popen(python.command(script, depth - 1), stdout=subprocess.PIPE, text=True) as target:
        try:
            target.stdout.readline()
            return [measure(target.pid, scratch, rate) for _ in range(ROUNDS)]
        finally:
            target.kill()


def medians(rounds):
    return (statistics.median(r[i] for r in rounds) for i in (0, 1))


def by_depth(script, scratch):
    print(f"{binary()}: ns a sample in a task, median of {ROUNDS}")
    for depth in AWAITING:
        without, with_it = medians(rounds_of(need("sid-3.15"), script, depth, scratch))
        print(f"  {depth:2} awaiting: {without:6.0f} without, {with_it:6.0f} with --async, "
              f"{with_it - without:+6.0f} ({with_it / without:.2f} times)", flush=True)


def by_version(script, scratch):
    print(f"{binary()}: ns a sample in a task, median of {ROUNDS}; our own CPU time; stacks of tasks with their chain")
    for name in OLD:
        for rate in (99, 999):
            rounds = rounds_of(need(name), script, 1, scratch, rate)
            without, with_it = medians(rounds)
            cpu = statistics.median(r[2]["cpu_percent"] for r in rounds)
            told = [r[2]["async"] for r in rounds]
            chains = sum(t["stacks"] for t in told)
            rest = {k: sum(t[k] for t in told) for k in ("async_gone", "async_late")}
            print(f"  {name:13} {rate:3} Hz: {without:6.0f} without, {with_it:6.0f} with --async "
                  f"({with_it / without:.2f} times); {cpu:.2f} % of a CPU; {chains} stacks, {rest}", flush=True)


def main():
    with tempfile.TemporaryDirectory() as directory, bpf_stats():
        scratch = Path(directory)
        script = scratch / "awaiting.py"
        script.write_text(PROGRAM)
        if len(sys.argv) < 2:
            by_depth(script, scratch)
        by_version(script, scratch)


main()
