#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-recorder: CPU time of the recorder for a sample, in user space and in its system calls.

One process is busy on one CPU, and only that CPU is sampled; the recorder has the others, and both run before
everything else on the machine. All CPU time of the recorder counts, also what it does once a second, once in a
MiB or at the end; beside it, that of its first thread alone, which takes the samples. The start does not: what
counts is how much more a long recording takes than a short one. With --before PROGRAM, another tachbpf, both
record in turn; each round's ratios are of recordings that followed each other.
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e" / "lib")]

import interpreters  # noqa: E402
import sample_cost  # noqa: E402
from paths import binary  # noqa: E402
from processes import online_cpus  # noqa: E402

SHORT_S = 2


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@dataclass
class Used:
    """What a recording took: s of CPU, of all its threads and of the first, and how many samples it has."""
    cpu: float
    first: float
    samples: int


def recorded(program, pid, cpu, output, rate, seconds):
    """What a recording of a process on that CPU used."""
    before = children_cpu()
    argv = [program, "-p", str(pid), "-C", str(cpu), "-r", str(rate), "-d", str(seconds), "-o", output, "--force",
            "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as recorder:
        summary = json.loads(recorder.stdout.read())
        os.waitid(os.P_PID, recorder.pid, os.WEXITED | os.WNOWAIT)
        first_ns = Path(f"/proc/{recorder.pid}/task/{recorder.pid}/schedstat").read_text().split()[0]
    if recorder.returncode:
        raise SystemExit(f"bench: {program} ended with {recorder.returncode}")
    return Used(children_cpu() - before, int(first_ns) / 1e9, summary["samples"])


def cost(program, interpreter, depth, scratch, options):
    """(µs of CPU, µs of it in the first thread, bytes of the file) for a sample."""
    cpu, output = online_cpus() - 1, scratch / "recorder.tach"
    with (sample_cost.before_others(cpu), sample_cost.busy(interpreter, scratch, depth, "distinct", cpu) as pid):
        short, long = (recorded(program, pid, cpu, output, options.rate, seconds)
                       for seconds in (SHORT_S, SHORT_S + options.seconds))
    us = 1e6 / (long.samples - short.samples)
    return us * (long.cpu - short.cpu), us * (long.first - short.first), output.stat().st_size / long.samples


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, action="append", default=[], help="another tachbpf")
    parser.add_argument("--depths", type=int, nargs="+", default=[5, 20, 60, 120])
    parser.add_argument("--rate", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=15, help="that a long recording is longer than a short one")
    parser.add_argument("interpreter", nargs="?", default="pyenv-3.13.0")
    options = parser.parse_args()
    found = [i for i in interpreters.discover() if i.name == options.interpreter]
    if not found or online_cpus() < 2:
        raise SystemExit(f"bench: needs {options.interpreter} and two CPUs")
    programs = [*options.before, binary()]
    print(f"{options.interpreter} at {options.rate} Hz, {options.rounds} rounds; for a sample µs of CPU, the least and"
          " the median, of the first thread, and bytes of the file; ratios of this build to that one")
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-", dir="/tmp") as name:
        scratch = Path(name)
        scratch.chmod(0o755)
        shutil.copy(HERE / "stack.py", scratch)
        for depth in options.depths:
            rounds = [[cost(p, found[0], depth, scratch, options) for p in programs]
                      for _ in range(options.rounds)]
            for program, costs in zip(programs, zip(*rounds)):
                us, first, size = zip(*costs)
                ratios = sorted(ours[-1][0] / its[0] for ours, its in zip(rounds, costs))
                print(f"depth {depth:3}  {min(us):6.3f} {statistics.median(us):6.3f} µs, first "
                      f"{statistics.median(first):6.3f}  {statistics.median(size):6.2f} bytes  ratio "
                      f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})  {program}", flush=True)


main()
