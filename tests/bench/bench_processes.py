#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-processes: what commands take for files of 100,000, 200,000 and 400,000 processes with one
sample each, in CPU seconds and MiB. Twice as many processes should take twice as long. --beside: another build
takes each file right after this one or before it; the ratios are of seconds and MiB for the largest file. Of several
rounds the one with the fewest seconds counts."""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e" / "lib")]

import beside  # noqa: E402
import many_processes  # noqa: E402

SPLIT_MAX = 100000		# files in a directory


def measure(program, command, path):
    """CPU seconds and MiB of one command; None: it failed."""
    with tempfile.TemporaryDirectory(dir=path.parent) as cwd:
        argv = [str(path) if word == "{}" else word for word in command.split()]
        child = subprocess.Popen([program, *argv, "--force"] if argv[0] == "replay" else
                                 [program, *argv], cwd=cwd, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return None if status else (usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def line(name, results):
    cells = ["-" if r is None else f"{r[0]:.2f} s {r[1]:5.0f} MiB" for r in results]
    done = [r[0] for r in results if r]
    growth = f"{done[-1] / done[-2]:9.2f}" if len(done) > 1 and done[-2] else f"{'':9}"
    print(f"{name:50}" + "".join(f"{c:>20}" for c in cells) + growth, end="")


def compare(ours, its):
    """Of the largest file that both have read."""
    both = [pair for pair in zip(ours, its) if all(pair)]
    if both:
        mine, other = both[-1]
        print(f"   {mine[0] / max(0.01, other[0]):.2f} s, {mine[1] / other[1]:.2f} MiB", end="")


def measured(tools, rounds, command, path):
    """name -> what the command takes, by each tool, alternating: the round with the fewest CPU seconds."""
    found = {name: [] for name in tools}
    for turn in range(rounds):
        for name in beside.order(tools, turn):
            found[name].append(measure(tools[name], command, path))
    return {name: None if None in all_of_them else min(all_of_them) for name, all_of_them in found.items()}


def table(name, write, commands, counts, tools, rounds, scratch):
    print(f"\n{name}\n{'command':50}" + "".join(f"{n:>20,}" for n in counts) + "   growth", flush=True)
    for n in counts:
        # Elsewhere: what starts a command must be small, because that counts in its memory.
        pid = os.fork()
        if not pid:
            write(scratch / f"{name}-{n}", n)
            os._exit(0)
        os.waitpid(pid, 0)
    for command in commands:
        results = {tool: [None] * len(counts) for tool in tools}
        for at, n in enumerate(counts):
            if "split" not in command or n <= SPLIT_MAX:
                for tool, result in measured(tools, rounds, command, scratch / f"{name}-{n}").items():
                    results[tool][at] = result
        for tool in tools:
            line(command if tool == "now" else f"  {tool}", results[tool])
            if tool == "beside":
                compare(results["now"], results[tool])
            print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--processes", type=int, default=100000)
    parser.add_argument("--only", nargs="+", default=[""], metavar="COMMAND", help="commands that begin with one of these")
    parser.add_argument("--rounds", type=int, default=1)
    beside.add_option(parser)
    args = parser.parse_args()
    tools = beside.names(args)
    counts = [args.processes * i for i in (1, 2, 4)]
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-", dir="/var/tmp") as scratch:
        for name, write, commands in (("collapsed, a profile each", many_processes.collapsed, many_processes.OF_PROFILES),
                                      ("TACH, shared", many_processes.shared, many_processes.OF_SHARED)):
            chosen = [c for c in commands if c.startswith(tuple(args.only))]
            table(name, write, chosen, counts, tools, args.rounds, Path(scratch))


if __name__ == "__main__":
    main()
