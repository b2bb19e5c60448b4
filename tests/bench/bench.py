#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench: what a sample costs, in the kernel and in user space, and beside the peers.

Kernel cost is the kernel's own count (bpf_stats) of the perf-event program,
with the target pinned to one CPU and only that CPU sampled: idle ticks would
dilute it. The switch is put back as it was.
"""
import argparse
import contextlib
import json
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
from bpf_objects import bpf_stats  # noqa: E402
from processes import cpu_s, kill, online_cpus  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

DEPTHS = (5, 20, 60, 120)
KERNEL_RATE = 10000
TOOL_RATE = 999
PYSPY = "py-spy==0.4.1"
AIMS = ("aims: kernel <= 1000 ns + 20 ns a frame; user <= 2 us a sample; "
        "whole tool <= 1 % of a core at 999 Hz")


@contextlib.contextmanager
def busy(interpreter, scratch, depth, kind, cpu):
    """A process that burns one CPU under a stack of that depth."""
    process = subprocess.Popen(
        ["taskset", "-c", str(cpu), *interpreter.command(scratch / "stack.py", depth, kind)],
        stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        if process.stdout.readline() != "ready\n":
            raise SystemExit(f"bench: {interpreter} did not start")
        yield process.pid
    finally:
        kill(process)


def perf_programs():
    """id -> (runs, ns) of every perf-event program in the kernel."""
    out = subprocess.run(["bpftool", "prog", "show", "-j"], capture_output=True, text=True,
                         timeout=60, check=True).stdout
    return {p["id"]: (p.get("run_cnt", 0), p.get("run_time_ns", 0))
            for p in json.loads(out) if p.get("type") == "perf_event"}


def window(pid, known, seconds):
    """(ticks, kernel ns, user s) of the profiler over an interval."""
    before, user = perf_programs(), cpu_s(pid)
    time.sleep(seconds)                 # the interval that is measured
    after, user = perf_programs(), cpu_s(pid) - user
    ours = [i for i in after if i in before and i not in known]
    return (max(after[i][0] - before[i][0] for i in ours),
            sum(after[i][1] - before[i][1] for i in ours), user)


def kernel_cost(pid, cpu, scratch, seconds):
    """(kernel ns a sample, user us a sample, samples a tick) at 10 kHz on one CPU.

    The median of five intervals: what else runs on this machine disturbs some. Ticks in
    other processes are cheap; their cost is left in, but they do not count as samples.
    """
    others = ",".join(str(c) for c in range(online_cpus()) if c != cpu) or str(cpu)
    known = perf_programs()
    argv = ["-p", pid, "-C", cpu, "-r", KERNEL_RATE, "-o", scratch / "bench.tach", "--force",
            "--json"]
    with Recording(argv, prefix=["taskset", "-c", others]) as recording:
        recording.wait_recording(cpus=1)
        time.sleep(0.3)                 # the first samples resolve every name
        windows = [window(recording.process.pid, known, seconds / 5) for _ in range(5)]
        summary = succeeded(recording.stop()).summary
    (scratch / "bench.tach").unlink()
    hit = summary["samples"] / summary["ticks"]["delivered"]
    return (statistics.median(ns / (ticks * hit) for ticks, ns, _ in windows),
            statistics.median(1e6 * user / (ticks * hit) for ticks, _, user in windows), hit)


def bench_kernel(found, scratch, seconds, depths):
    cpu = online_cpus() - 1
    print(f"\nkernel: ns a sample by bpf_stats, and user us a sample, at {KERNEL_RATE} Hz"
          f"\n(aims: {', '.join(str(1000 + 20 * d) for d in depths)} ns; 2 us)")
    print(f"{'interpreter':14} {'functions':10}"
          + "".join(f"{'ns @' + str(d):>10}" for d in depths)
          + "".join(f"{'us @' + str(d):>9}" for d in depths) + "   samples/tick")
    worst = 0.0
    for interpreter in found:
        for kind in ("distinct", "recursion"):
            rows = []
            for depth in depths:
                with bpf_stats(), busy(interpreter, scratch, depth, kind, cpu) as pid:
                    rows.append(kernel_cost(pid, cpu, scratch, seconds))
            print(f"{interpreter.name:14} {kind:10}" + "".join(f"{ns:10.0f}" for ns, _, _ in rows)
                  + "".join(f"{us:9.2f}" for _, us, _ in rows)
                  + f"   {min(hit for _, _, hit in rows):.3f}"
                  + ("  (disturbed)" if min(hit for _, _, hit in rows) < 0.9 else ""), flush=True)
            worst = max([worst] + [ns / (1000 + 20 * d) for (ns, _, _), d in zip(rows, depths)])
    print(f"worst against the aim: {100 * worst:.0f} % of 1000 ns + 20 ns a frame")


def measured_cpu(pid, seconds):
    """CPU % of a process over an interval."""
    start, clock = cpu_s(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (cpu_s(pid) - start) / (time.monotonic() - clock)


def tool_ours(pid, cpu, scratch, seconds):
    """tachbpf's own CPU %, and the CPU % its BPF program takes from everyone."""
    known = perf_programs()
    with bpf_stats(), Recording(["-p", pid, "-r", TOOL_RATE, "-o", scratch / "tool.tach",
                                 "--force", "--json"]) as recording:
        recording.wait_recording()
        time.sleep(0.5)
        before = perf_programs()
        own = measured_cpu(recording.process.pid, seconds)
        after = perf_programs()
        succeeded(recording.stop())
    (scratch / "tool.tach").unlink()
    in_kernel = sum(after[i][1] - before[i][1] for i in after if i not in known)
    return own, 100 * in_kernel / 1e9 / seconds


def tool_peer(argv, seconds, settle=1.5):
    """CPU % of another profiler while it runs."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        time.sleep(settle)
        if process.poll() is not None:
            return None, process.stderr.read().strip().splitlines()[-1:]
        return measured_cpu(process.pid, seconds), None
    finally:
        kill(process)


def tachyon(pid, scratch):
    return ["nsenter", "-t", str(pid), "-m", "-r", "-w", "python3.15", "-m", "profiling.sampling",
            "attach", "--mode", "cpu", "-a", "-r", str(TOOL_RATE), "-d", "600", "--binary", "-o",
            str(scratch / "tachyon.bin"), str(pid)]


def pyspy(scratch):
    """Path of py-spy, got from PyPI into the scratch directory; None if it cannot be had."""
    at_hand = shutil.which("py-spy")
    if at_hand:
        return at_hand
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target",
                           str(scratch / "pyspy"), PYSPY], capture_output=True, timeout=300)
    path = scratch / "pyspy" / "bin" / "py-spy"
    return str(path) if done.returncode == 0 and path.exists() else None


def say(name, target, percent, note=""):
    print(f"{name:34} {target:14} {percent:8.2f} %  {note}", flush=True)


def bench_tool(found, scratch, seconds):
    cpu = online_cpus() - 1
    print(f"\nwhole tool: CPU % of one core at {TOOL_RATE} Hz, one busy process, depth 20"
          " (aim: 1 %)")
    by_name = {i.name: i for i in found}
    spy = pyspy(scratch)
    for name in ("system-3.11", "sid-3.15"):
        if name not in by_name:
            print(f"{name}: missing")
            continue
        with busy(by_name[name], scratch, 20, "distinct", cpu) as pid:
            own, in_kernel = tool_ours(pid, cpu, scratch, seconds)
            say("tachbpf", name, own + in_kernel, f"user {own:.2f} + kernel {in_kernel:.2f}")
            if name == "sid-3.15":
                peer, why = tool_peer(tachyon(pid, scratch), seconds)
                label = "CPython 3.15 profiling.sampling"
            elif spy:
                peer, why = tool_peer([spy, "record", "-r", str(TOOL_RATE), "-d", "600", "-f",
                                       "raw", "-o", str(scratch / "spy.txt"), "-p", str(pid)],
                                      seconds)
                label = "py-spy"
            else:
                print("py-spy: missing (pip could not install it)")
                continue
            if peer is None:
                print(f"{label}: did not run: {why}")
            else:
                say(label, name, peer)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="per kernel figure")
    parser.add_argument("--interpreter", action="append",
                        help="only these (default: all but debug builds)")
    parser.add_argument("--depth", type=int, action="append",
                        help="only these (default: 5 20 60 120)")
    parser.add_argument("--only", choices=("kernel", "tool"))
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("bench: needs root: sudo make bench")
    found = [i for i in interpreters.discover()
             if (i.name in args.interpreter if args.interpreter else not i.debug)]
    scratch = Path(tempfile.mkdtemp(prefix="tachbpf-bench-", dir="/tmp"))
    try:
        scratch.chmod(0o755)
        shutil.copy(HERE / "stack.py", scratch)
        print(f"tachbpf bench on {online_cpus()} CPUs, kernel {os.uname().release}\n{AIMS}")
        if args.only != "tool":
            bench_kernel(found, scratch, args.seconds, args.depth or DEPTHS)
        if args.only != "kernel":
            bench_tool(found, scratch, 10 * args.seconds)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
