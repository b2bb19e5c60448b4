#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-faults: what --mode mem costs a program by the events and walks of its page faults.

CPU time of rounds of work, without events and with them, in turn; the least of the rounds, to which other
programs only add. ns a run are the kernel's own count (bpf_stats), whose bookkeeping adds to them and to
the CPU time: it is on in rounds of their own. tests/bpf/fault_program.c records: what the BPF side does, without files.
"""
import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import interpreters  # noqa: E402
from bpf_objects import bpf_programs, bpf_stats  # noqa: E402
from processes import kill, online_cpus  # noqa: E402

PROGRAM = Path(os.environ["TACHBPF"]).parent / "tests" / "bpf" / "fault_program"
DEFAULT, ALL = 65536, 4096


class Work:
    """faulting.py, pinned to the last CPU."""

    def __init__(self, command, cpu):
        self.process = subprocess.Popen(["taskset", "-c", str(cpu), *map(str, command)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        start_new_session=True)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("bench: the program did not start")

    def round(self):
        """(CPU ns, faults)"""
        print(file=self.process.stdin, flush=True)
        return tuple(map(int, self.process.stdout.readline().split()))


@contextlib.contextmanager
def events(every, pid, cpu):
    """Page faults are recorded, but for the target's CPU by another one. Yields a function that asks for
    the sums."""
    process = subprocess.Popen(["taskset", "-c", str(max(0, cpu - 1)), PROGRAM, str(every), str(pid)],
                               text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(word):
        print(word, file=process.stdin, flush=True)
        return process.stdout.readline()
    try:
        process.stdout.readline()
        yield say
    finally:
        process.stdin.close()
        process.wait()


def compare(name, work, every, pid, rounds, cpu):
    """Rounds without and with events, in turn. pid: whose faults are walked."""
    plain, recorded = [], []
    with events(every, pid, cpu) as say:
        for _ in range(rounds):
            say("pause")
            plain.append(work.round())
            say("resume")
            recorded.append(work.round())
    before, after = (min(ns for ns, _ in r) for r in (plain, recorded))
    faults = statistics.median(n for _, n in recorded)
    print(f"  {name:32} {faults:9,.0f} faults: {before / 1e6:8.1f} ms, recorded {after / 1e6:8.1f} ms: "
          f"{100 * (after - before) / before:+6.2f} %, {(after - before) / faults:+6.0f} ns a fault")


def spent(work, every, pid, cpu):
    """ns a run, by bpf_stats."""
    with events(every, pid, cpu), bpf_stats():
        before = bpf_programs("on_page_fault")
        for _ in range(3):
            _, faults = work.round()
        after = bpf_programs("on_page_fault")
    runs, ns = (sum(v[i] for v in after.values()) - sum(v[i] for v in before.values()) for i in (0, 1))
    print(f"    {runs:9,} runs of {3 * faults:,} faults, {ns / max(1, runs):,.0f} ns a run")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("interpreters", nargs="*", default=["system-3.11"])
    args = parser.parse_args()
    cpu = online_cpus() - 1
    for interpreter in (i for i in interpreters.discover() if i.name in args.interpreters):
        with tempfile.TemporaryDirectory(prefix="tachbpf-bench-faults-", dir="/tmp") as name:
            script = Path(name) / "faulting.py"
            Path(name).chmod(0o755)
            script.write_text((HERE / "faulting.py").read_text())
            for kind in ("touch", "alloc"):
                work = Work(interpreter.command(script, kind), cpu)
                other = Work(interpreter.command(script, kind), cpu)
                try:
                    for every in (DEFAULT, ALL):
                        print(f"{interpreter.name}, {kind}, one fault in {every // 4096}:")
                        compare("its faults are not walked", work, every, other.process.pid,
                                args.rounds, cpu)
                        spent(work, every, other.process.pid, cpu)
                        compare("its faults are walked", work, every, work.process.pid,
                                args.rounds, cpu)
                        spent(work, every, work.process.pid, cpu)
                finally:
                    kill(work.process)
                    kill(other.process)


main()
