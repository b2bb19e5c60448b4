#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench: what wall mode costs: switches, a program that does little else, idle threads.

ns a switch are the kernel's own count (bpf_stats) of the scheduler's programs, which its own
bookkeeping adds to; with the target pinned to one CPU, where nothing else is to run. A switch
between Python threads is measured where there is budget for nearly all walks (turns.py), and
beside another tachbpf (--beside) in the same rounds.
"""
import argparse
import contextlib
import os
import re
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
from bpf_objects import bpf_programs, bpf_stats, fields, held  # noqa: E402
from paths import binary  # noqa: E402
from processes import cpu_s, kill, online_cpus  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

AIM_OTHERS_NS, AIM_PYTHON_NS = 150, 800
AIMED = (20, "unchanged")       # what AIM_PYTHON_NS is for
DEPTHS = (5, 20, 60)
HOW = ("unchanged", "changing")
WINDOWS, WINDOW_S = 3, 0.15     # of one round
PARTS = ("others", "turns", "overhead", "idle")


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
    with Recording([*argv, "-o", scratch / "wall", "--force", "--json"],
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


def switches(pid):
    """How often a process' threads have left a CPU."""
    texts = [p.read_text() for p in Path(f"/proc/{pid}/task").glob("*/status")]
    # two lines each: voluntary and nonvoluntary
    return sum(map(int, re.findall(r"voluntary_ctxt_switches:\s*(\d+)", "".join(texts))))


def on_switch_of(profiler):
    """fdinfo of a profiler's own on_switch: another that records has one, too."""
    ids = {str(number) for _, number in bpf_programs("on_switch")}
    # a link has a program, too, but no type
    return next(Path(f"/proc/{profiler}/fdinfo/{fd}")
                for fd, said in held(profiler, "prog_id").items()
                if said["prog_id"] in ids and "prog_type" in said)


def windows(profiler, pid):
    """(ns, switches) of each of a round's windows."""
    info, marks = on_switch_of(profiler), []
    for i in range(WINDOWS + 1):
        if i:
            time.sleep(WINDOW_S)        # the interval that is measured
        marks.append((int(fields(info)["run_time_ns"]), switches(pid)))
    return [(after[0] - before[0], after[1] - before[1]) for before, after in zip(marks, marks[1:])]


class Turns:
    """What the switches of one target take with one tachbpf, in all rounds."""

    def __init__(self, program):
        self.program, self.ns, self.rates, self.walks, self.over_budget = program, [], [], 0, 0

    def measure(self, pid, scratch):
        """One more round."""
        os.environ["TACHBPF"] = str(self.program)
        with recording(scratch, "-p", pid, "-m", "wall") as r:
            found = windows(r.process.pid, pid)
            said = succeeded(r.stop()).summary["switches"]
        self.ns += [ns / n for ns, n in found]
        self.rates += [n / WINDOW_S for _, n in found]
        self.walks += said["looked_at"]
        self.over_budget += said["over_budget"]

    def took(self):
        return f"{min(self.ns):5.0f} ({statistics.median(self.ns):.0f})"

    def without_budget(self):
        return f"{100 * self.over_budget / self.walks:.1f}"


def turns_of(command, scratch, rounds, binaries, cpu):
    """Name of a tachbpf -> Turns, all with the same target."""
    with started(command, cpu) as p:
        if p.stdout.readline() != "ready\n":
            raise SystemExit(f"bench: {command} did not start")
        found = {name: Turns(program) for name, program in binaries.items()}
        for _ in range(rounds):
            for one in found.values():
                one.measure(p.pid, scratch)
    return found


def turns(interpreter, scratch, rounds, binaries, cpu):
    for depth in DEPTHS:
        for how in HOW:
            command = interpreter.command(scratch / "turns.py", depth, how)
            found = turns_of(command, scratch, rounds, binaries, cpu)
            took = ", ".join(f"{name} {one.took()}" for name, one in found.items()) + " ns"
            if "before" in found:
                took += f", ratio {min(found['now'].ns) / min(found['before'].ns):.2f}"
            share = ", ".join(one.without_budget() for one in found.values())
            rate = statistics.median(found["now"].rates)
            aim = f"; aim {AIM_PYTHON_NS} ns" if (depth, how) == AIMED else ""
            print(f"  {interpreter.name:12} {depth:3} {how:9} {took}; {share} % without budget "
                  f"({rate:,.0f} switches/s{aim})", flush=True)


def round_trips(interpreter, scratch, seconds, depth, cpu, mode=None):
    """(rounds/s, summary)"""
    with started(interpreter.command(scratch / "pingpong.py", seconds, depth), cpu) as p:
        if p.stdout.readline() != "ready\n":
            raise SystemExit(f"bench: {interpreter} did not start")
        with contextlib.ExitStack() as stack:
            if mode:
                r = stack.enter_context(recording(scratch, "-a", "-m", mode))
            p.stdin.write("go\n")
            p.stdin.flush()
            rounds = int(p.stdout.readline())
            summary = succeeded(r.stop()).summary if mode else None
    return rounds / seconds, summary


def overhead(interpreter, scratch, seconds, cpu):
    plain = statistics.median(round_trips(interpreter, scratch, seconds, 20, cpu)[0]
                              for _ in range(3))
    rates, cpu_percent, lost = [], [], 0
    for _ in range(3):
        rate, summary = round_trips(interpreter, scratch, seconds, 20, cpu, "wall")
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
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=3, help="per figure, but of turns")
    parser.add_argument("--rounds", type=int, default=2, help="of turns")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--beside", type=Path, help="another tachbpf, for turns")
    parser.add_argument("interpreters", nargs="*",
                        default=["system-3.11", "pyenv-3.13.0", "sid-3.15"])
    args = parser.parse_args()
    found = [i for i in interpreters.discover() if i.name in args.interpreters]
    binaries = {"before": args.beside, "now": binary()} if args.beside else {"now": binary()}
    cpu, parts = online_cpus() - 1, PARTS if args.only is None else (args.only,)
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-wait-", dir="/tmp") as name, bpf_stats():
        scratch = Path(name)
        scratch.chmod(0o755)
        for target in ("pingpong.py", "turns.py", "idle_threads.py"):
            shutil.copy(HERE / target, scratch)
        if "others" in parts:
            print("a context switch in wall mode, by bpf_stats:")
            others(scratch, args.seconds, cpu)
        if "turns" in parts:
            print("a switch from one Python thread to another of its process, by bpf_stats, least "
                  f"(median) of {args.rounds} rounds of {WINDOWS} windows; its stack is that of "
                  "its last wait (unchanged) or not:")
            for interpreter in found:
                turns(interpreter, scratch, args.rounds, binaries, cpu)
        if "overhead" in parts:
            print("a program that only switches (two processes, one pipe, depth 20):")
            for interpreter in found:
                overhead(interpreter, scratch, args.seconds, cpu)
        if "idle" in parts:
            print("a process of idle threads:")
            for interpreter in found:
                idle(interpreter, scratch, 5 * args.seconds, 1000)


main()
