#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-hostile: how long a sample of a hostile target keeps a CPU, mean and worst.

Each trap of targets/hostile has a CPU to itself, the profiler and all else the others. The
program measures itself (--self-time), less what the host of a virtual machine takes
meanwhile: that is told as stalls, which a plain stack has as well.
"""
import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import hostile  # noqa: E402
from processes import online_cpus  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

RATE = 9999
AIM_NS = 100_000


def measure(program, scenario, cpu, scratch, seconds):
    others = ",".join(str(c) for c in range(online_cpus()) if c != cpu) or str(cpu)
    output = scratch / "hostile.tach"
    with hostile.Hostile(program, scenario, cpu=cpu) as target:
        argv = ["-p", target.pid, "-C", cpu, "-r", RATE, "-d", seconds, "-o", output,
                "--self-time", "--force", "--json"]
        with Recording(argv, prefix=["taskset", "-c", others]) as recording:
            summary = succeeded(recording.wait()).summary
    output.unlink(missing_ok=True)
    return summary


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--disguise", action="append", choices=sorted(hostile.DISGUISES),
                        help="default: 3.11 and 3.15, and the lists of 3.15-list")
    parser.add_argument("--scenario", action="append", choices=hostile.scenarios())
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("bench-hostile: needs root")
    cpu = online_cpus() - 1
    scratch = Path(tempfile.mkdtemp(prefix="tachbpf-bench-", dir="/tmp"))
    worst = 0
    print(f"ns a sample at {RATE} Hz, kernel {os.uname().release} (aim: {AIM_NS} at worst)\n"
          f"{'disguise':11}{'scenario':17}{'samples':>8}{'mean':>9}{'99.9 %':>9}{'max':>9}{'stalls':>8}"
          f"{'cut':>8}{'ring full':>10}{'profiler':>10}")
    try:
        for disguise in args.disguise or ("3.11", "3.15", "3.15-list"):
            program = hostile.build(scratch, disguise)
            for scenario in args.scenario or hostile.scenarios():
                if disguise == "3.15-list" and not args.disguise and "lists" not in scenario:
                    continue
                s = measure(program, scenario, cpu, scratch, args.seconds)
                t = s.get("sample_time", {"mean_ns": 0, "p999_ns": 0, "max_ns": 0, "stalls": 0})
                print(f"{disguise:11}{scenario:17}{s['samples']:8}{t['mean_ns']:9}{t['p999_ns']:9}"
                      f"{t['max_ns']:9}{t['stalls']:8}{s['late']:8}{s['lost']['ring_full']:10}"
                      f"{s['cpu_percent']:8.1f} %", flush=True)
                worst = max(worst, t["p999_ns"])
    finally:
        shutil.rmtree(scratch)
    print(f"worst 99.9th percentile: {worst} ns, {100 * worst / AIM_NS:.0f} % of the aim")


if __name__ == "__main__":
    main()
