#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-recorder: CPU time of the recorder for a sample, in user space and in its system calls.

One process is busy on one CPU, and only that CPU is sampled; the recorder has the others, and both run before
everything else on the machine. All CPU time of the recorder counts, also what it does once a second, once in a
MiB or at the end. The start does not: what counts is how much more a long recording takes than a short one.
With --before PROGRAM, another tachbpf, both record in turn.
"""
import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
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


def recorded(program, pid, cpu, output, rate, seconds):
    """(CPU s of the recorder, samples) of a recording of a process on that CPU."""
    before = children_cpu()
    done = subprocess.run([program, "-p", str(pid), "-C", str(cpu), "-r", str(rate), "-d", str(seconds), "-o",
                           output, "--force", "--json"], stdout=subprocess.PIPE, check=True, timeout=600)
    return children_cpu() - before, json.loads(done.stdout)["samples"]


def cost(program, interpreter, depth, scratch, options):
    """(µs of CPU, bytes of the file) for a sample."""
    cpu, output = online_cpus() - 1, scratch / "recorder.tach"
    with (sample_cost.before_others(cpu), sample_cost.busy(interpreter, scratch, depth, "distinct", cpu) as pid):
        short_s, short = recorded(program, pid, cpu, output, options.rate, SHORT_S)
        long_s, long = recorded(program, pid, cpu, output, options.rate, SHORT_S + options.seconds)
    return 1e6 * (long_s - short_s) / (long - short), output.stat().st_size / long


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
    print(f"CPU time of the recorder for a sample at {options.rate} Hz, {options.interpreter}, and bytes of the file:"
          f" the least and the median of {options.rounds} rounds")
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-", dir="/tmp") as name:
        scratch = Path(name)
        scratch.chmod(0o755)
        shutil.copy(HERE / "stack.py", scratch)
        for depth in options.depths:
            rounds = [[cost(p, found[0], depth, scratch, options) for p in programs]
                      for _ in range(options.rounds)]
            for program, costs in zip(programs, zip(*rounds)):
                us, size = zip(*costs)
                print(f"depth {depth:3}  {min(us):6.3f} {statistics.median(us):6.3f} µs "
                      f"{statistics.median(size):6.2f} bytes  {program}", flush=True)


main()
