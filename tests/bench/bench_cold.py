#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-cold: what a sample costs at the rates that people use, when caches are cold.

How it is measured is in cold_cost.py. --beside OTHER-TACHBPF: both record the same target, and their clocks tick alternately.
--quick: fewer interpreters, one depth, only the target that walks through memory, no whole profilers.
"""
import argparse
import itertools
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e" / "lib")]

import beside  # noqa: E402
import cold_cost  # noqa: E402
import cold_docs  # noqa: E402
import cold_tools  # noqa: E402
import interpreters  # noqa: E402
import sample_cost  # noqa: E402
from bpf_objects import bpf_stats  # noqa: E402
from machine import description  # noqa: E402
from processes import online_cpus  # noqa: E402

RATES, DEPTHS, MIBS = (19, 99, 999, 10000), (20, 40, 80), (cold_cost.WALKED_MIB, 0)
# One for each way in which frames and code objects are kept
PYTHONS = {"3.9": ("bullseye-3.9", "pyenv-3.9.18"), "3.11": ("system-3.11", "bookworm-3.11"),
           "3.13": ("sid-3.13", "pyenv-3.13.0"), "3.15": ("sid-3.15",)}
TOOL_PYTHON = "3.11"
QUICK = {"python": ["3.9", "3.11", "3.13"], "depth": [20], "mib": [cold_cost.WALKED_MIB]}


def chosen(versions):
    """version -> Interpreter; one that is missing is named and left out."""
    by_name = {i.name: i for i in interpreters.discover()}
    found = {v: next((by_name[n] for n in PYTHONS.get(v, (v,)) if n in by_name), None)
             for v in versions}
    for version in (v for v, i in found.items() if not i):
        print(f"CPython {version}: missing")
    return {v: i for v, i in found.items() if i}


def measured(interpreter, depth, mib, programs, scratch, args):
    """rate -> [Cold of each program]."""
    cpu, got = online_cpus() - 1, {rate: [cold_cost.Cold() for _ in programs] for rate in args.rate}
    for turn in range(args.rounds):
        with sample_cost.busy(interpreter, scratch, depth, "distinct", cpu, mib) as pid:
            for rate in args.rate:
                cold_cost.measure(got[rate], programs, pid, cpu, scratch, rate, not turn)
    return got


def words(cold):
    """A program's columns."""
    low, high = cold.quartiles()
    misses = f"{statistics.mean(cold.misses):.0f}" if cold.misses else "-"
    return (f"{cold.median():9,.0f} {f'{low:,.0f}-{high:,.0f}':>15}{misses:>7}"
            f"{100 * cold.truncated / max(1, cold.samples):8.2f}"
            f"{100 * cold.late / max(1, cold.samples):7.2f}")


def ratio(colds):
    """Of the first program's time to the other's: of all runs, and the range of the rounds."""
    rounds = [a / b for a, b in zip(*(c.rounds for c in colds))]
    return f"{colds[0].median() / colds[1].median():8.2f} ({min(rounds):.2f}-{max(rounds):.2f})"


def say_head(programs):
    print("\nns a run of on_cpu_tick that found the target (median, quartiles), cache misses a run, "
          "% of stacks cut and late")
    for at, program in enumerate(programs):
        print(f"{'AB'[at]}: {program}")
    columns = f"{'ns':>9} {'quartiles':>15}{'misses':>7}{'cut %':>8}{'late %':>7}"
    print(f"{'CPython':8}{'depth':>6}{'MiB':>5}{'Hz':>7}{'':>2}{columns}"
          + f" {columns}{'A/B':>8} (rounds)" * (len(programs) - 1), flush=True)


def bench_samples(programs, scratch, args):
    """Measures, prints, and returns rows of figures."""
    found, rows = chosen(args.python), []
    say_head(programs)
    for key in itertools.product(found, args.depth, args.mib):
        version, depth, mib = key
        for rate, colds in measured(found[version], depth, mib, programs, scratch, args).items():
            rows.append({"python": version, "depth": depth, "mib": mib, "rate": rate,
                         "programs": [c.row() for c in colds]})
            print(f"{version:8}{depth:6}{mib:5}{rate:7}  " + " ".join(map(words, colds))
                  + (ratio(colds) if len(colds) > 1 else ""), flush=True)
    if not any(p["misses"] for row in rows for p in row["programs"]):
        print("misses: no counters (or a perf that cannot count those of a BPF program)")
    return rows


def bench_tools(scratch, args):
    """The same of whole profilers."""
    cpu = online_cpus() - 1
    for interpreter in chosen([TOOL_PYTHON]).values():
        with sample_cost.busy(interpreter, scratch, DEPTHS[0], "distinct", cpu,
                              cold_cost.WALKED_MIB) as pid:
            return cold_tools.bench_tools(pid, cpu, scratch, args)
    return []


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    beside.add_option(parser)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--rate", type=int, nargs="+", default=list(RATES))
    parser.add_argument("--depth", type=int, nargs="+", help="default: 20 40 80")
    parser.add_argument("--mib", type=int, nargs="+", help="that the target walks through; default: 64 0")
    parser.add_argument("--python", nargs="+", help="versions, or names of interpreters; "
                        f"default: {' '.join(PYTHONS)}")
    parser.add_argument("--otel", type=Path, metavar="BINARY", help="OpenTelemetry's eBPF profiler")
    parser.add_argument("--otel-server", default="127.0.0.1:4317", help="that takes its profiles (OTLP, gRPC)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--docs", type=Path, help="write the tables into this page")
    parser.add_argument("--only", choices=("samples", "tools"))
    args = parser.parse_args()
    for name, full in (("python", list(PYTHONS)), ("depth", list(DEPTHS)), ("mib", list(MIBS))):
        if getattr(args, name) is None:
            setattr(args, name, QUICK[name] if args.quick else full)
    return args


def write(args, said):
    """What is known so far, if a file was named for it."""
    if args.json:
        args.json.write_text(json.dumps(said, indent=1) + "\n")


def main():
    args = options()
    if os.geteuid() != 0:
        raise SystemExit("bench-cold: needs root: sudo make bench-cold")
    programs = beside.programs(args)
    said = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "machine": description(),
            "programs": [str(p) for p in programs]}
    scratch = Path(tempfile.mkdtemp(prefix="tachbpf-bench-", dir="/tmp"))
    try:
        scratch.chmod(0o755)
        shutil.copy(HERE / "stack.py", scratch)
        print(f"tachbpf bench-cold on {description()}")
        with sample_cost.before_others(online_cpus() - 1), bpf_stats():
            if args.only != "tools":
                said["samples"] = bench_samples(programs, scratch, args)
                write(args, said)   # whatever becomes of the tools
            if args.only == "tools" or args.otel or not (args.only or args.quick):
                said["tools"] = bench_tools(scratch, args)
    finally:
        shutil.rmtree(scratch)
    write(args, said)
    if args.docs:
        cold_docs.write(args.docs, said)


if __name__ == "__main__":
    main()
