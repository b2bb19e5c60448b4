#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bench_trace.py - what the thread context costs a sample: with it and without it at the same time, by bpf_stats.

Also whether the BPF programs are the same without it: their instructions in the kernel, with those
of another tachbpf if OTHER names its trace_events. root; needs make build/tests/bench/trace_events.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("TACHBPF", REPO / "build/tachbpf")).parent / "tests/bench/trace_events"
TARGETS = REPO / "tests/e2e/targets"
ROUNDS, SECONDS, RATE = int(os.environ.get("ROUNDS", "6")), 3.0, 4999
STATS = Path("/proc/sys/kernel/bpf_stats_enabled")
CASES = {       # name: how the writer is compiled, the route
    "at the thread pointer": (["-mtls-dialect=gnu2"], ""),
    "with attributes": (["-mtls-dialect=gnu2"], "/a/{id}"),
    "through the DTV": (["-mtls-dialect=gnu", "-ftls-model=local-dynamic", "-DEARLIER=100000"], ""),
}


def programs(reader):
    """name -> (run time in ns, runs, bytes of instructions) of its programs."""
    texts = [path.read_text() for path in Path(f"/proc/{reader.pid}/fdinfo").iterdir()]
    its = {int(i) for text in texts for i in re.findall(r"^prog_id:\s+(\d+)", text, re.M)}
    found = json.loads(subprocess.run(["bpftool", "-j", "prog", "show"], check=True,
                                      capture_output=True).stdout)
    return {p["name"]: (p.get("run_time_ns", 0), p.get("run_cnt", 0), p["bytes_xlated"])
            for p in found if p["id"] in its}


def start(program, mode, rate, pid):
    reader = subprocess.Popen([program, mode, str(rate), str(pid)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert reader.stdout.readline() == "ready\n"
    return reader


def measure(pid, rates):
    """For each rate, (ns a tick, samples with a context in percent): at the same time, because what
    else the machine does changes a tick's time by more than a context."""
    readers = [start(PROGRAM, "bench", rate, pid) for rate in rates]
    before = [programs(reader)["on_cpu_tick"] for reader in readers]
    time.sleep(SECONDS)
    after = [programs(reader)["on_cpu_tick"] for reader in readers]
    measured = []
    for reader, a, b in zip(readers, before, after):
        _, said = reader.communicate()
        events, traced = map(int, re.search(r"(\d+) events, (\d+) with", said).groups())
        measured.append(((b[0] - a[0]) / (b[1] - a[1]), 100 * traced / max(events, 1)))
    return measured


def case(name, options, route, scratch):
    library = scratch / f"{name.replace(' ', '_')}.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", '-DVISIBILITY="protected"', *options, "-o",
                    library, TARGETS / "trace_writer.c"], check=True)
    target = subprocess.Popen(["taskset", "-c", "0", "/usr/bin/python3", TARGETS / "traced.py",
                               library, "always", route], stdout=subprocess.PIPE, text=True)
    try:
        assert target.stdout.readline() == "ready\n"
        on, off = [], []
        for i in range(ROUNDS):
            its = measure(target.pid, (RATE, -RATE)[::1 - i % 2 * 2])
            on.append(its[i % 2])
            off.append(its[1 - i % 2])
    finally:
        target.kill()
        target.wait()
    middle = statistics.median(a[0] - b[0] for a, b in zip(on, off))
    print(f"{name:24} off {statistics.median(o[0] for o in off):6.0f} ns a tick, "
          f"on {statistics.median(o[0] for o in on):6.0f} ns, "
          f"on - off: {middle:4.0f} ns ({min(a[0] - b[0] for a, b in zip(on, off)):.0f} to "
          f"{max(a[0] - b[0] for a, b in zip(on, off)):.0f}); contexts in "
          f"{statistics.median(o[1] for o in on):.0f} % and {statistics.median(o[1] for o in off):.0f} %",
          flush=True)


def sizes(program, rate):
    reader = start(program, "wall", rate, os.getpid())
    found = {name: p[2] // 8 for name, p in programs(reader).items() if name in ("on_cpu_tick", "on_switch")}
    reader.communicate()
    return found


def main():
    was = STATS.read_text()
    for which, program, rate in (("off", PROGRAM, -99), ("on", PROGRAM, 99),
                                 ("other", os.environ.get("OTHER"), 99)):
        if program:
            print(f"instructions, {which:6}", sizes(program, rate), flush=True)
    STATS.write_text("1")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            for name, (options, route) in CASES.items():
                case(name, options, route, Path(scratch))
    finally:
        STATS.write_text(was)


if __name__ == "__main__":
    sys.exit(main())
