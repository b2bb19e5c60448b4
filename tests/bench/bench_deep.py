#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bench_deep.py: which share of deep stacks of machine code is cut, on a busy machine.

The program has N Python functions, each called through C (targets/deep_native.py): five C frames each with 3.11.
A busy loop for each CPU runs beside it. "cut" are stacks that end before the thread's first
function; those of the first moments, in which tables are not built or mappings not known yet, are told
apart. "shortened" are whole, but have more frames than a sample. --beside: the same of another build.
"""
import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e" / "lib")]

import beside  # noqa: E402
import interpreters  # noqa: E402
from bench_native import running  # noqa: E402
from paths import TARGETS  # noqa: E402
from processes import online_cpus, use_cpu  # noqa: E402
from recording import Recording, succeeded  # noqa: E402
from sample_cost import another  # noqa: E402

INTERPRETERS = ("pyenv-3.9.18", "system-3.11", "pyenv-3.13.0", "sid-3.15")
RATES, DEPTHS, AIM = (99, 999), (40, 100), 0.005
FIRST = ("table_not_ready", "mappings_unknown", "not_mapped")


@contextlib.contextmanager
def busy():
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(online_cpus())]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def recorded(argv, rate, scratch, seconds):
    with busy(), running(argv) as pid, Recording(
            ["-p", pid, "-r", rate, "--native", "-o", scratch / "deep", "--force", "--json"]) as recording:
        recording.wait_recording()
        use_cpu(pid, seconds)
        return succeeded(recording.stop()).summary


def show(name, depth, rate, summary):
    ends = {k: n for k, n in summary["native"]["ends"].items() if n}
    stacks, first = sum(ends.values()), sum(ends.get(k, 0) for k in FIRST)
    cut = stacks - first - ends.get("whole", 0)
    share = cut / max(1, stacks - first)
    print(f"{name:14}{depth:5}{rate:6}{stacks:8}{cut:7}{100 * share:8.2f} %{first:8}"
          f"{summary.get('shortened', 0):11}  {'' if share <= AIM else f'aim missed: {100 * AIM} %  '}"
          + ", ".join(f"{n} {k}" for k, n in ends.items() if k != "whole"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4, help="CPU time of each recording")
    parser.add_argument("--interpreter", action="append")
    parser.add_argument("--depth", type=int, action="append")
    beside.add_option(parser)
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("bench-deep: needs root")
    found = [i for i in interpreters.discover() if i.name in (args.interpreter or INTERPRETERS)]
    scratch = Path(tempfile.mkdtemp(prefix="tachbpf-bench-", dir="/tmp"))
    scratch.chmod(0o755)
    shutil.copy(TARGETS / "deep_native.py", scratch)
    try:
        for program in beside.programs(args):
            print(f"{program}\n{'interpreter':14}{'N':>5}{'Hz':>6}{'stacks':>8}{'cut':>7}{'share':>10}"
                  f"{'first':>8}{'shortened':>11}")
            with another(program):
                for interpreter in found:
                    for depth in args.depth or DEPTHS:
                        argv = interpreter.command(scratch / "deep_native.py", 600, depth)
                        for rate in RATES:
                            show(interpreter.name, depth, rate, recorded(argv, rate, scratch, args.seconds))
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
