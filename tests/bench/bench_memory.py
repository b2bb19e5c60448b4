#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-memory: what a recording of memory costs an allocation-heavy program, beside memray and tracemalloc.

Each way runs the same rounds, in turn with the others, so that what else the machine does is in all of
them; the figure is CPU time of the program's process against the plain runs before and after it: median and
range. "plain, once more" is what the machine's other work makes of it. The share of the BPF programs is the
kernel's own count (bpf_stats), which a busy machine changes little. Then what the recorder itself takes, and
how near its figures are to a program's own books.
"""
import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import interpreters  # noqa: E402
import memory_runs  # noqa: E402
from bpf_objects import bpf_programs, bpf_stats  # noqa: E402
from interp import cache  # noqa: E402
from paths import TARGETS  # noqa: E402
from processes import family, family_cpu_s, kill  # noqa: E402
from pypi import PyPI, path_of  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

AIM_PERCENT = 1
PROGRAMS = ("on_page_fault", "on_unmapped_are", "on_cpu_tick")      # names have 15 bytes
BUFFERS = (0, 2, 20)        # of churning.py
MEMRAY = ("memray==1.20.0",)


@contextlib.contextmanager
def program(argv, env=None):
    process = subprocess.Popen([*map(str, argv)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, start_new_session=True,
                               env=dict(os.environ, **(env or {})))
    try:
        if process.stdout.readline() != "ready\n":
            raise SystemExit(f"bench: {argv} did not start")
        yield process
    finally:
        kill(process)


def rounds_of(process):
    """(CPU seconds, seconds, page faults) of its rounds."""
    process.stdin.write("go\n")
    process.stdin.flush()
    return tuple(map(float, process.stdout.readline().split()))


def plain(interpreter, scratch, rounds):
    with program(interpreter.command(scratch / "churning.py", *rounds)) as p:
        return rounds_of(p)


def traced(interpreter, scratch, rounds):
    with program(interpreter.command("-X", "tracemalloc", scratch / "churning.py", *rounds)) as p:
        return rounds_of(p)


def memrayed(interpreter, scratch, rounds, packages):
    trace = scratch / "memray.bin"
    trace.unlink(missing_ok=True)
    with program(interpreter.command("-m", "memray", "run", "-q", "-o", trace, scratch / "churning.py",
                                     *rounds), {"PYTHONPATH": str(packages)}) as p:
        return rounds_of(p)


def private_bytes(pid):
    """Memory that a process and all below it have to themselves."""
    total = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Private_Dirty"):
                    total += 1024 * int(line.split()[1])
    return total


def bpf_s():
    """Seconds of the recorder's programs, of all CPUs."""
    return sum(ns for _, ns in bpf_programs(*PROGRAMS).values()) / 1e9


class Cost:
    """What the recorder took in its runs."""

    def __init__(self):
        self.cpu, self.memory, self.file, self.bpf = [], [], [], []


def recorded(interpreter, scratch, rounds, cost, options, all_of_the_host=False):
    out = scratch / "recorded"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    with program(interpreter.command(scratch / "churning.py", *rounds)) as p:
        whose = ["-a"] if all_of_the_host else ["-p", p.pid]
        with Recording([*whose, "-m", "mem", "-o", out / ("all" if all_of_the_host else "m.mlyze"),
                        "--json", *options]) as r:
            r.wait_recording()
            time.sleep(0.3)
            before, begin, bpf = family_cpu_s(r.process.pid), time.monotonic(), bpf_s()
            took = rounds_of(p)
            cost.bpf.append((bpf_s() - bpf) / took[0])
            cost.cpu.append((family_cpu_s(r.process.pid) - before) / (time.monotonic() - begin))
            cost.memory.append(private_bytes(r.process.pid))
            succeeded(r.stop())
    cost.file.append(sum(f.stat().st_size for f in out.rglob("*.mlyze")))
    return took


def slowdowns(interpreter, scratch, rounds, repeats, packages):
    """Each way in turn."""
    costs = {}

    def ours(*options, **more):
        cost = Cost()
        return cost, lambda: recorded(interpreter, scratch, rounds, cost, options, **more)
    ways = {}
    for name, (cost, run) in {
            "tachbpf, -p (default: 64 KiB)": ours(), "tachbpf, -a": ours(all_of_the_host=True),
            "tachbpf, --every 4096": ours("--every", "4096")}.items():
        ways[name], costs[name] = run, cost
    ways["tracemalloc"] = lambda: traced(interpreter, scratch, rounds)
    if packages:
        ways["memray"] = lambda: memrayed(interpreter, scratch, rounds, packages)
    ways["plain, once more"] = lambda: plain(interpreter, scratch, rounds)
    cpu, _, faults = plain(interpreter, scratch, rounds)
    print(f" {rounds[1]} buffers a round: {faults / cpu:,.0f} page faults for each second of CPU")
    percent = {name: [] for name in ways}
    for _ in range(repeats):
        for name, run in ways.items():
            before = plain(interpreter, scratch, rounds)[0]
            took = run()[0]
            after = plain(interpreter, scratch, rounds)[0]
            percent[name].append(200 * took / (before + after) - 100)
    for name, all_of_them in percent.items():
        cost = costs.get(name)
        own = "" if not cost else (f"; BPF programs {100 * statistics.median(cost.bpf):.2f} % of its CPU time; "
                                   f"the recorder: {100 * statistics.median(cost.cpu):.2f} % of a CPU, "
                                   f"{max(cost.memory) / 2**20:.0f} MiB, file {max(cost.file):,} bytes")
        print(f"  {name:32}{statistics.median(all_of_them):8.2f} % slower ({min(all_of_them):.2f} to "
              f"{max(all_of_them):.2f}){own}", flush=True)


def accuracy(interpreter, scratch, every, mib, pace_ms):
    recorded = memory_runs.record(interpreter, scratch, scratch / f"accuracy-{every}", f"growth={mib}",
                                  every=every, env={"BOOK_PACE_MS": str(pace_ms)})
    book = recorded.truth["functions"]["grower"]["held"]
    found = recorded.rows.of("grower", "held")
    explained = recorded.rows.total("held") / recorded.growth
    print(f"  --every {every:6}: {mib} MiB in one function: {100 * (found - book) / book:+.2f} % off its "
          f"books; {100 * explained:.1f} % of the growth explained (by the file itself: "
          f"{recorded.mine.get('explained')}); not walked: "
          f"{recorded.rows.of(memory_runs.NOT_WALKED, 'touched') / 2**20:.1f} MiB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=("cost", "accuracy"))
    parser.add_argument("interpreters", nargs="*", default=["system-3.11"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-memory-", dir="/tmp") as name, bpf_stats():
        scratch = Path(name)
        scratch.chmod(0o755)
        shutil.copy(HERE / "churning.py", scratch)
        shutil.copytree(TARGETS, scratch / "targets")
        for interpreter in interpreters.discover():
            if interpreter.name not in args.interpreters:
                continue
            try:
                packages = path_of(PyPI("memray", interpreter, MEMRAY))
            except (cache.Failed, OSError) as error:
                packages = None
                print(f"  without memray: {error}")
            print(f"{interpreter}: CPU time of an allocation-heavy program (aim: {AIM_PERCENT} % at the "
                  "default), median and range:")
            if args.only != "accuracy":
                for buffers in BUFFERS:
                    slowdowns(interpreter, scratch, (args.rounds, buffers), args.repeats, packages)
            if args.only == "cost":
                continue
            print(f"{interpreter}: held bytes against a program's own books:")
            for every, mib, pace_ms in ((4096, 64, 24), (16384, 256, 8), (65536, 1024, 2)):
                accuracy(interpreter, scratch, every, mib, pace_ms)


main()
