#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-possible: what tachbpf takes for each CPU that is possible, on machines with 2 and with 128 of them.

Both are emulated (qemu), and have two CPUs online; the others could be plugged in. "kernel" is what the kernel's
memory for each CPU (Percpu in /proc/meminfo) has grown by, where the maps are; "PSS" is of all processes of
tachbpf, which have the ring buffer, twice in what they map and once in PSS. --beside: the same of another build.
"""
import argparse
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
KERNELS = HERE.parent / "kernels"
LIB = HERE.parent / "e2e" / "lib"
sys.path[:0] = [str(HERE), str(KERNELS), str(LIB)]

import beside  # noqa: E402
import guest  # noqa: E402
import prepare  # noqa: E402
import table  # noqa: E402

AIM_KIB = 256
SHARED = ("notes.py", "paths.py", "processes.py", "recording.py")    # what the job imports
START = "cd /tmp/job && TACHBPF=/tmp/job/tachbpf exec {0} -B possible_job.py /dev/vdb\n"


def job(python, program):
    return {"tachbpf": (program.read_bytes(), 0o755),
            "tachbpf-elf": (program.with_name("tachbpf-elf").read_bytes(), 0o755),
            "start": (START.format(python).encode(), 0o755),
            "possible_job.py": ((KERNELS / "possible_job.py").read_bytes(), 0o644),
            **{name: ((LIB / name).read_bytes(), 0o644) for name in SHARED}}


def measured(arch, kernel, program, possible):
    row = table.ROOTS[kernel.root]
    done = guest.run(arch, kernel, prepare.kernel(arch, kernel), prepare.root(arch, row),
                     job(row.pythons[0], program), cpus=f"2,maxcpus={possible}")
    if "result.json" not in done.files:
        raise SystemExit(f"bench-possible: the guest left no result:\n{done.last_words()}")
    return json.loads(done.files["result.json"])


def grown(machine, name):
    return machine["modes"][name]["during"] - machine["before"]


def show(program, few, many):
    more = many["possible"] - few["possible"]
    print(f"{program}: Linux {few['release']}, possible CPUs: {few['possible']} and {many['possible']}")
    print(f"{'':16}{'kernel, KiB':>20}{'PSS, KiB':>20}{'KiB for a CPU':>16}")
    for name, small in few["modes"].items():
        large = many["modes"][name]
        for mode in (small, large):
            if mode["status"]:
                raise SystemExit(f"bench-possible: tachbpf {name} ended with {mode['status']}: {mode['stderr']}")
        kernel = grown(few, name), grown(many, name)
        each = (kernel[1] - kernel[0] + large["pss"] - small["pss"]) / more
        print(f"{name:16}{kernel[0]:>9} {kernel[1]:>10}{small['pss']:>9} {large['pss']:>10}"
              f"{each:>16.1f}{'' if each <= AIM_KIB else '  aim missed: ' + str(AIM_KIB)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="6.1", choices=[k.name for k in table.KERNELS])
    parser.add_argument("--possible", type=int, default=128)
    beside.add_option(parser)
    args = parser.parse_args()
    arch = table.ARCHES["x86"]
    kernel = next(k for k in table.KERNELS if k.name == args.kernel)
    for program in beside.programs(args):
        show(program, *(measured(arch, kernel, program, n) for n in (2, args.possible)))


main()
