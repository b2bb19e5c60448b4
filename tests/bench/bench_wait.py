#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench: what wall mode costs: a context switch, a program that does little else, idle threads.

ns a switch are the kernel's own count (bpf_stats) of the scheduler's programs, which its own
bookkeeping adds to; with the target pinned to one CPU, where nothing else is to run.
"""
import argparse
import contextlib
import shutil
import statistics
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
from bpf_objects import bpf_programs, bpf_stats  # noqa: E402
from processes import cpu_s, kill, online_cpus  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

AIM_OTHERS_NS, AIM_PYTHON_NS = 150, 2500
DEPTHS = (5, 20, 60)


def programs():
    return bpf_programs("on_switch", "on_wakeup")


def spent(before, after, name):
    runs = sum(after[k][0] - before.get(k, (0, 0))[0] for k in after if k[0] == name)
    ns = sum(after[k][1] - before.get(k, (0, 0))[1] for k in after if k[0] == name)
    return runs, ns


@contextlib.contextmanager
def started(argv, cpu):
    process = subprocess.Popen(["taskset", "-c", str(cpu), *map(str, argv)], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               start_new_session=True)
    try:
        yield process
    finally:
        kill(process)


@contextlib.contextmanager
def recording(scratch, *argv):
    others = ",".join(str(c) for c in range(online_cpus() - 1)) or "0"
    with Recording([*argv, "-o", scratch / "wall", "--json"],
                   prefix=["taskset", "-c", others]) as r:
        r.wait_recording()
        time.sleep(0.3)
        yield r
    shutil.rmtree(scratch / "wall", ignore_errors=True)


def others(scratch, seconds, cpu):
    """ns a switch between two processes that are not Python."""
    program = scratch / "pingpong"
    subprocess.run(["cc", "-O2", "-o", program, HERE / "pingpong.c"], check=True)
    with recording(scratch, "-a", "-m", "wall") as r, started([program, seconds], cpu) as p:
        before = programs()
        rounds = int(p.stdout.readline())
        after = programs()
        succeeded(r.stop())
    runs, ns = spent(before, after, "on_switch")
    wakes, wake_ns = spent(before, after, "on_wakeup")
    print(f"  not Python      {ns / runs:8.0f} ns a switch, {wake_ns / wakes:4.0f} ns a wake-up "
          f"({2 * rounds / seconds:,.0f} switches/s; aim {AIM_OTHERS_NS} ns)")


def round_trips(interpreter, scratch, seconds, depth, cpu, mode=None):
    """(rounds/s, ns a switch, summary)"""
    with started(interpreter.command(scratch / "pingpong.py", seconds, depth), cpu) as p:
        if p.stdout.readline() != "ready\n":
            raise SystemExit(f"bench: {interpreter} did not start")
        with contextlib.ExitStack() as stack:
            if mode:
                r = stack.enter_context(recording(scratch, "-a", "-m", mode))
            before = programs()
            p.stdin.write("go\n")
            p.stdin.flush()
            rounds = int(p.stdout.readline())
            after = programs()
            summary = succeeded(r.stop()).summary if mode else None
    runs, ns = spent(before, after, "on_switch") if mode else (1, 0)
    return rounds / seconds, ns / runs, summary


def python(interpreter, scratch, seconds, cpu):
    for depth in DEPTHS:
        _, ns, _ = round_trips(interpreter, scratch, seconds, depth, cpu, "wall")
        print(f"  {interpreter.name:12} {depth:3} {ns:8.0f} ns a switch of a thread that leaves "
              f"and one that comes (aim {AIM_PYTHON_NS} ns)")


def overhead(interpreter, scratch, seconds, cpu):
    plain = statistics.median(round_trips(interpreter, scratch, seconds, 20, cpu)[0]
                              for _ in range(3))
    rates, cpu_percent, lost = [], [], 0
    for _ in range(3):
        rate, _, summary = round_trips(interpreter, scratch, seconds, 20, cpu, "wall")
        rates.append(rate)
        cpu_percent.append(summary["cpu_percent"])
        lost += summary["lost_total"]
    wall = statistics.median(rates)
    print(f"  {interpreter.name:12} {2 * plain:9,.0f} switches/s, in wall mode {2 * wall:9,.0f} "
          f"({100 * (plain - wall) / plain:.1f} % fewer); the profiler takes "
          f"{statistics.median(cpu_percent):.0f} % of a CPU, {lost} lost")


def idle(interpreter, scratch, seconds, threads):
    with started(interpreter.command(scratch / "idle_threads.py", threads), 0) as p:
        if p.stdout.readline() != "ready\n":
            raise SystemExit(f"bench: {interpreter} did not start")
        with Recording(["-p", p.pid, "-m", "wall", "-r", "999", "-o", scratch / "idle.tach",
                        "--force", "--json"]) as r:
            r.wait_recording()
            time.sleep(1)
            user = cpu_s(r.process.pid)
            time.sleep(seconds)
            user = cpu_s(r.process.pid) - user
            summary = succeeded(r.stop()).summary
    size = (scratch / "idle.tach").stat().st_size
    print(f"  {interpreter.name:12} {threads} threads, {seconds:.0f} s at 999 Hz: "
          f"{summary['samples']:,} samples in {size:,} bytes; the profiler takes "
          f"{100 * user / seconds:.2f} % of a CPU")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("interpreters", nargs="*", default=["system-3.11", "sid-3.15"])
    args = parser.parse_args()
    found = [i for i in interpreters.discover() if i.name in args.interpreters]
    cpu = online_cpus() - 1
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-wait-", dir="/tmp") as name, bpf_stats():
        scratch = Path(name)
        scratch.chmod(0o755)
        for target in ("pingpong.py", "idle_threads.py"):
            shutil.copy(HERE / target, scratch)
        print("a context switch in wall mode, by bpf_stats:")
        others(scratch, args.seconds, cpu)
        for interpreter in found:
            python(interpreter, scratch, args.seconds, cpu)
        print("a program that only switches (two processes, one pipe, depth 20):")
        for interpreter in found:
            overhead(interpreter, scratch, args.seconds, cpu)
        print("a process of idle threads:")
        for interpreter in found:
            idle(interpreter, scratch, 5 * args.seconds, 1000)


main()
