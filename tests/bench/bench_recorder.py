#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-recorder: CPU time of the recorder for a sample, in user space and in its system calls.

One process is busy on one CPU, and only that CPU is sampled; the recorder has the others. All CPU time of the recorder
counts, also what it does once a second or once in 2 MiB; beside it, that of its first thread alone, which takes the
samples. The start and the end do not. With --beside PROGRAM, another tachbpf, both record at once, so that whatever
else the machine does meets them alike.
"""
import argparse
import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e" / "lib")]

import interpreters  # noqa: E402
import sample_cost  # noqa: E402
from paths import binary  # noqa: E402
from processes import online_cpus  # noqa: E402

SETTLE_S = 3            # every name was sent and read


def cpu_ns(pid):
    """ns of CPU, of all threads of a process and of the first."""
    each = {t.name: int((t / "schedstat").read_text().split()[0]) for t in Path(f"/proc/{pid}/task").iterdir()}
    return sum(each.values()), each[str(pid)]


@contextlib.contextmanager
def recorder(program, pid, cpu, output, rate):
    """A recording of a process on that CPU."""
    others = ",".join(str(c) for c in os.sched_getaffinity(0) if c != cpu)
    argv = ["taskset", "-c", others, program, "-p", str(pid), "-C", str(cpu), "-r", str(rate), "-o", output, "--force"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process.pid
        finally:
            process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    if process.returncode:
        raise SystemExit(f"bench: {program} ended with {process.returncode}: {said}")


def costs(programs, interpreter, depth, scratch, options):
    """[(µs of CPU, µs of it in the first thread, KiB of the file) of each program], the times for a sample."""
    cpu, outputs = online_cpus() - 1, [scratch / f"recorder-{i}.tach" for i in range(len(programs))]
    with contextlib.ExitStack() as stack:
        pid = stack.enter_context(sample_cost.busy(interpreter, scratch, depth, "distinct", cpu))
        pids = [stack.enter_context(recorder(p, pid, cpu, o, options.rate)) for p, o in zip(programs, outputs)]
        time.sleep(SETTLE_S)
        before, began = [cpu_ns(p) for p in pids], time.monotonic()
        time.sleep(options.seconds)
        after, seconds = [cpu_ns(p) for p in pids], time.monotonic() - began
    ns = 1000 * options.rate * seconds
    return [((a[0] - b[0]) / ns, (a[1] - b[1]) / ns, o.stat().st_size / 1024)
            for a, b, o in zip(after, before, outputs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", type=Path, action="append", default=[], help="another tachbpf")
    parser.add_argument("--depths", type=int, nargs="+", default=[5, 20, 60, 120])
    parser.add_argument("--rate", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=40, help="of a round")
    parser.add_argument("interpreter", nargs="?", default="pyenv-3.13.0")
    options = parser.parse_args()
    found = [i for i in interpreters.discover() if i.name == options.interpreter]
    if not found or online_cpus() < 2:
        raise SystemExit(f"bench: needs {options.interpreter} and two CPUs")
    programs = [*options.beside, binary()]
    print(f"{options.interpreter} at {options.rate} Hz, {options.rounds} rounds; for a sample µs of CPU, the median, and of "
          "the first thread; KiB of the file; ratios of this build to that one")
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-", dir="/tmp") as name:
        scratch = Path(name)
        scratch.chmod(0o755)
        shutil.copy(HERE / "stack.py", scratch)
        for depth in options.depths:
            rounds = [costs(programs, found[0], depth, scratch, options) for _ in range(options.rounds)]
            for program, each in zip(programs, zip(*rounds)):
                us, first, size = (statistics.median(of) for of in zip(*each))
                ratios = sorted(ours[-1][0] / its[0] for ours, its in zip(rounds, each))
                print(f"depth {depth:3}  {us:6.3f} µs, first {first:6.3f}  {size:6.0f} KiB  ratio "
                      f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})  {program}", flush=True)


main()
