#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-resolve: what user space needs for a sample, by depth and by how much has changed.

With --beside PROGRAM, a bench_resolve of another build, both run in turn; the last column says
whether they wrote the same file.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

CASES = ("same", "line", "top", "all", "switch")
DEPTHS = (5, 20, 60, 120)
WHERE = ("nothing", "tree", "file")


def nanoseconds(program, case, depth, samples, to):
    return float(subprocess.run([program, case, str(depth), str(samples), str(to)], check=True,
                                capture_output=True, text=True, timeout=600).stdout)


def row(programs, case, depth, where, options, scratch):
    """Print the least and the median of rounds in which all programs take turns."""
    outs = [scratch / f"{i}.tach" if where == "file" else where for i in range(len(programs))]
    rounds = [[nanoseconds(p, case, depth, options.samples, out)
               for p, out in zip(programs, outs)] for _ in range(options.rounds)]
    least = [min(column) for column in zip(*rounds)]
    median = [statistics.median(column) for column in zip(*rounds)]
    line = f"{case:8}{depth:6}  {where:8}"
    for low, middle in zip(least, median):
        line += f"{low:9.0f}{middle:9.0f}"
    if len(programs) == 2:
        line += f"{least[1] / least[0]:8.2f}{median[1] / median[0]:8.2f}"
        if where == "file":
            same = outs[0].read_bytes() == outs[1].read_bytes()
            line += "  same file" if same else "  ANOTHER FILE"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--beside", metavar="PROGRAM", help="bench_resolve of another build")
    parser.add_argument("--samples", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=CASES, help="this case only")
    options = parser.parse_args()
    programs = [options.beside] if options.beside else []
    programs.append(os.environ["BENCH_RESOLVE"])
    heads = ("before", "", "after", "") if options.beside else ("ns", "")
    print("CPU time of a sample in ns, least and median of", options.rounds, "rounds")
    print(f"{'changes':8}{'depth':>6}  {'goes to':8}" + "".join(f"{h:>9}" for h in heads)
          + ("   ratio" if options.beside else ""))
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-", dir="/tmp") as name:
        for case in [options.only] if options.only else CASES:
            for where in WHERE:
                for depth in DEPTHS:
                    row(programs, case, depth, where, options, Path(name))


main()
