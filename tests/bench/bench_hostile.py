#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-hostile: the CPU time that samples of hostile targets take, and how many honest stacks that cuts off.

Each trap of targets/hostile has a CPU to itself, the profiler and all else the others. The
program measures itself (--self-time), less what the host of a virtual machine takes
meanwhile: that is told as stalls, which a plain stack has as well.

The honest are Python programs whose stacks no cache has, as each walks through 64 MB between its
samples, and all run at once. Those that were cut off are counted, whatever it took.
"""
import argparse
import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import hostile  # noqa: E402
import interpreters  # noqa: E402
import sample_cost  # noqa: E402
from processes import online_cpus  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

RATES = (99, 999, 9999)
HONEST_RATES = (19, 99, 999)
# user/capture/capture.c: ns for each sample, and the part of a CPU's time that comes on top
LIMIT_NS, NAMES_SHARE = 60_000, 512
AIM_NS = 600_000        # bpf/budget.bpf.h: 500,000, and what is done between two readings of the clock
AIM_CUT = 0.1           # %
MINORS, DEPTHS = (6, 9, 11, 13), (22, 41, 80, 128)
DEEP = """
import sys
depth, B = int(sys.argv[1]), bytearray(64 << 20)
source = ["def f%d():\\n    x = %d\\n    return f%d()" % (i, i, i + 1) for i in range(depth - 2)]
source.append("def f%d():\\n    while True:\\n        for i in range(0, len(B), 4160): B[i] = B[i] + 1 & 255" % (depth - 2))
exec("\\n".join(source))
print("ready", flush=True)
f0()
"""


def measure(program, scenario, rate, cpu, scratch, seconds):
    others = ",".join(str(c) for c in range(online_cpus()) if c != cpu) or str(cpu)
    output = scratch / "hostile.tach"
    with hostile.Hostile(program, scenario, cpu=cpu) as target:
        argv = ["-p", target.pid, "-C", cpu, "-r", rate, "-d", seconds, "-o", output,
                "--self-time", "--force", "--json"]
        with Recording(argv, prefix=["taskset", "-c", others]) as recording:
            summary = succeeded(recording.wait()).summary
    output.unlink(missing_ok=True)
    return summary


def traps(args, scratch):
    """Prints a row for each; returns the longest sample, and the largest share of what is allowed."""
    cpu = online_cpus() - 1
    longest = largest = 0
    print(f"samples of traps, ns, and % of a CPU; kernel {os.uname().release} (aim: {AIM_NS} ns at most)\n"
          f"{'rate':5}{'disguise':11}{'scenario':17}{'samples':>8}{'mean':>9}{'99.9 %':>9}{'max':>9}{'stalls':>8}"
          f"{'cut':>8}{'% of CPU':>10}{'allowed':>9}{'ring full':>10}{'profiler':>10}")
    for disguise in args.disguise or ("3.11", "3.15", "3.15-list"):
        program = hostile.build(scratch, disguise)
        for scenario in args.scenario or hostile.scenarios():
            if disguise == "3.15-list" and not args.disguise and "lists" not in scenario:
                continue
            for rate in args.rate or RATES:
                s = measure(program, scenario, rate, cpu, scratch, args.seconds)
                t = s.get("sample_time", {"mean_ns": 0, "p999_ns": 0, "max_ns": 0, "stalls": 0})
                ticks = s["ticks"]["expected"]
                used = 100e-9 * t["mean_ns"] * s["samples"] / max(ticks, 1) * rate
                allowed = 100e-9 * LIMIT_NS * rate + 100 / NAMES_SHARE
                print(f"{rate:<5}{disguise:11}{scenario:17}{s['samples']:8}{t['mean_ns']:9}{t['p999_ns']:9}"
                      f"{t['max_ns']:9}{t['stalls']:8}{s['late']:8}{used:10.2f}{allowed:9.2f}"
                      f"{s['lost']['ring_full']:10}{s['cpu_percent']:8.1f} %", flush=True)
                longest, largest = max(longest, t["p999_ns"]), max(largest, used / allowed)
    return longest, largest


def honest(args, scratch):
    """Prints a row for each rate and program, and the share of all at each rate."""
    script = scratch / "deep.py"
    script.write_text(DEEP)
    found = {i.minor[1]: i for i in reversed(interpreters.discover())}
    with contextlib.ExitStack() as stack:
        pids = {}
        for minor in MINORS:
            if minor not in found:
                print(f"no CPython 3.{minor} (make interpreters)")
                continue
            for depth in DEPTHS:
                cpu = len(pids) % online_cpus()
                pids[stack.enter_context(sample_cost.spinning(found[minor], cpu, script, depth))] = minor, depth
        for rate in args.rate or HONEST_RATES:
            argv = ["-p", ",".join(map(str, pids)), "-r", rate, "-d", args.honest_seconds, "-o", scratch / f"h{rate}",
                    "--self-time", "--json"]
            with Recording(argv) as recording:
                s = succeeded(recording.wait()).summary
            rows = sorted((*pids[r["pid"]], r["samples"], r["truncated"]) for r in s["processes"])
            print(f"\nhonest stacks at {rate} Hz, {len(pids)} programs at once: samples, % cut off "
                  f"(aim: {AIM_CUT})\n{'':8}" + "".join(f"{'depth ' + str(d):>18}" for d in DEPTHS))
            for minor in MINORS:
                cells = {r[1]: f"{r[2]:8} {100 * r[3] / max(r[2], 1):8.2f} " for r in rows if r[0] == minor}
                print(f"3.{minor:<6}" + "".join(f"{cells.get(d, '-'):>18}" for d in DEPTHS))
            t, samples = s["sample_time"], sum(r[2] for r in rows)
            print(f"all: {samples} samples, {100 * sum(r[3] for r in rows) / max(samples, 1):.3f} % cut off; a sample "
                  f"{t['mean_ns']} ns, 99.9 % below {t['p999_ns']}, max {t['max_ns']}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", choices=("traps", "honest"))
    parser.add_argument("--rate", action="append", type=int,
                        help=f"default: traps {RATES}, honest stacks {HONEST_RATES}")
    parser.add_argument("--seconds", type=float, default=2, help="for each trap")
    parser.add_argument("--honest-seconds", type=float, default=30, help="for each rate")
    parser.add_argument("--disguise", action="append", choices=sorted(hostile.DISGUISES),
                        help="default: 3.11 and 3.15, and the lists of 3.15-list")
    parser.add_argument("--scenario", action="append", choices=hostile.scenarios())
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("bench-hostile: needs root")
    scratch = Path(tempfile.mkdtemp(prefix="tachbpf-bench-", dir="/tmp"))
    try:
        if args.only != "honest":
            longest, largest = traps(args, scratch)
            print(f"worst 99.9th percentile: {longest} ns, {100 * longest / AIM_NS:.0f} % of the aim; "
                  f"largest share of what is allowed: {100 * largest:.0f} %")
        if args.only != "traps":
            honest(args, scratch)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
