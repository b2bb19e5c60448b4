#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench: what a sample costs, in the kernel and in user space, and beside the peers.

How a sample is measured is in sample_cost.py. --json FILE: all figures, from which picture.py draws
docs/overhead.svg. --quick: what the picture needs (make bench-picture).
"""
import argparse
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
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e" / "lib")]

import interpreters  # noqa: E402
import sample_cost  # noqa: E402
from bpf_objects import bpf_stats, held  # noqa: E402
from machine import description  # noqa: E402
from processes import cpu_s, kill, online_cpus  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

DEPTHS = (5, 20, 60, 120)
TOOL_RATE = 999
PYSPY, AUSTIN = ("py-spy", "py-spy==0.4.1"), ("austin", "austin-dist==3.7.0")
# For the picture: one of each group of versions, and the oldest.
QUICK = ("pyenv-3.6.15", "bullseye-3.9", "pyenv-3.10.13", "system-3.11", "pyenv-3.12.1",
         "sid-3.13", "sid-3.14", "sid-3.15")
AIMS = ("aims: kernel <= 1000 ns + 20 ns a frame; user <= 2 us a sample; "
        "whole tool <= 1 % of a core at 999 Hz")


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


def costs(found, kinds, scratch, args):
    """(interpreter, kind, depth) -> a Cost of each round. Rounds are interleaved: what disturbs the
    machine for a while disturbs all of them."""
    cpu, got = online_cpus() - 1, {}
    for _ in range(args.rounds):
        for key in ((i, kind, d) for i in found for kind in kinds for d in args.depth or DEPTHS):
            with sample_cost.busy(key[0], scratch, key[2], key[1], cpu) as pid:
                got.setdefault(key, []).append(
                    sample_cost.measure(pid, cpu, scratch,
                                        max(1, round(args.seconds / sample_cost.WINDOW_S))))
    return got


def figures(key, rounds):
    """A row of the JSON file: of all windows of all rounds."""
    interpreter, kind, depth = key
    ns = [v for cost in rounds for v in cost.kernel_ns]
    us = [v for cost in rounds for v in cost.user_us]
    return {"interpreter": interpreter.name, "version": "%d.%d" % interpreter.minor,
            "functions": kind, "depth": depth, "ns": round(min(ns)),
            "median_ns": round(statistics.median(ns)), "user_us": round(statistics.median(us), 3)}


def bench_kernel(found, scratch, args):
    """Measures, prints a table, and returns rows of figures."""
    depths = args.depth or DEPTHS
    print(f"\nkernel: ns a sample by bpf_stats at {sample_cost.RATE} Hz, of all windows of "
          f"{args.rounds} rounds the fastest and the median; user: µs a sample, the median,\n"
          "without what a recorder does seldom (make bench-recorder has all of it)\n"
          f"(aims: {', '.join(str(1000 + 20 * d) for d in depths)} ns; 2 µs)")
    kinds = ("distinct",) if args.quick else ("distinct", "recursion")
    rows = [figures(key, rounds) for key, rounds in costs(found, kinds, scratch, args).items()]
    print(f"{'interpreter':14} {'functions':10}" + "".join(f"{'ns @' + str(d):>14}" for d in depths)
          + "".join(f"{'µs @' + str(d):>9}" for d in depths))
    for name, kind in dict.fromkeys((r["interpreter"], r["functions"]) for r in rows):
        mine = [r for r in rows if (r["interpreter"], r["functions"]) == (name, kind)]
        print(f"{name:14} {kind:10}" + "".join(f"{r['ns']:7}{r['median_ns']:7}" for r in mine)
              + "".join(f"{r['user_us']:9.2f}" for r in mine), flush=True)
    worst = max(r["ns"] / (1000 + 20 * r["depth"]) for r in rows)
    print(f"worst against the aim: {100 * worst:.0f} % of 1000 ns + 20 ns a frame")
    return rows


def measured_cpu(pid, seconds):
    """CPU % of a process over an interval."""
    start, clock = cpu_s(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (cpu_s(pid) - start) / (time.monotonic() - clock)


def kernel_s(pid):
    """Seconds that a process' BPF programs took so far."""
    programs = {said["prog_id"]: int(said["run_time_ns"]) for said in held(pid, "prog_id").values()
                if "run_time_ns" in said}
    return sum(programs.values()) / 1e9


def tool_ours(pid, scratch, seconds):
    """tachbpf's own CPU %, and the CPU % its BPF programs take from everyone."""
    with Recording(["-p", pid, "-r", TOOL_RATE, "-o", scratch / "tool.tach", "--force",
                    "--json"]) as recording:
        recording.wait_recording()
        time.sleep(0.5)
        before = kernel_s(recording.process.pid)
        own = measured_cpu(recording.process.pid, seconds)
        in_kernel = kernel_s(recording.process.pid) - before
        succeeded(recording.stop())
    (scratch / "tool.tach").unlink()
    return own, 100 * in_kernel / seconds


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


def from_pypi(scratch, program, package):
    """Path of a program that is at hand, or got from PyPI into the scratch directory; None if it
    cannot be had."""
    at_hand = shutil.which(program)
    if at_hand:
        return at_hand
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target",
                           str(scratch / program), package], capture_output=True, timeout=300)
    path = scratch / program / "bin" / program
    return str(path) if done.returncode == 0 and path.exists() else None


def pyspy(scratch):
    return from_pypi(scratch, *PYSPY)


def say(name, target, percent, note=""):
    print(f"{name:34} {target:14} {percent:8.2f} %  {note}", flush=True)


def peers(name, pid, scratch):
    """(name, argv) of the profilers that can be run beside us on that interpreter; argv None:
    it cannot be had."""
    if name == "sid-3.15":
        return [("CPython 3.15 profiling.sampling", tachyon(pid, scratch))]
    spy, austin = pyspy(scratch), from_pypi(scratch, *AUSTIN)
    return [("py-spy", spy and [spy, "record", "-r", str(TOOL_RATE), "-d", "600", "-f", "raw", "-o",
                                str(scratch / "spy.txt"), "-p", str(pid)]),
            ("austin", austin and [austin, "-i", str(1000000 // TOOL_RATE), "-o",
                                   str(scratch / "austin.txt"), "-p", str(pid)])]


def bench_peers(name, pid, scratch, seconds):
    for tool, argv in peers(name, pid, scratch):
        if not argv:
            print(f"{tool}: missing (pip could not install it)")
            continue
        percent, why = tool_peer(argv, seconds)
        if percent is None:
            print(f"{tool}: did not run: {why}")
            continue
        say(tool, name, percent)
        yield {"tool": tool, "interpreter": name, "percent": round(percent, 3)}


def bench_tool(found, scratch, seconds):
    """Measures, prints, and returns rows of figures."""
    cpu, rows = online_cpus() - 1, []
    print(f"\nwhole tool: CPU % of one core at {TOOL_RATE} Hz, one busy process, depth 20"
          " (aim: 1 %)")
    by_name = {i.name: i for i in found}
    for name in ("system-3.11", "sid-3.15"):
        if name not in by_name:
            print(f"{name}: missing")
            continue
        with sample_cost.busy(by_name[name], scratch, 20, "distinct", cpu) as pid:
            own, in_kernel = tool_ours(pid, scratch, seconds)
            say("tachbpf", name, own + in_kernel, f"user {own:.2f} + kernel {in_kernel:.2f}")
            rows.append({"tool": "tachbpf", "interpreter": name,
                         "percent": round(own + in_kernel, 3)})
            rows += bench_peers(name, pid, scratch, seconds)
    return rows


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="per kernel figure and round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--interpreter", action="append",
                        help="only these (default: all but debug builds)")
    parser.add_argument("--depth", type=int, action="append",
                        help="only these (default: 5 20 60 120)")
    parser.add_argument("--only", choices=("kernel", "tool"))
    parser.add_argument("--quick", action="store_true", help="what the picture needs")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args()


def main():
    args = options()
    if os.geteuid() != 0:
        raise SystemExit("bench: needs root: sudo make bench")
    wanted = args.interpreter or (QUICK if args.quick else None)
    found = [i for i in interpreters.discover() if (i.name in wanted if wanted else not i.debug)]
    scratch = Path(tempfile.mkdtemp(prefix="tachbpf-bench-", dir="/tmp"))
    said = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "machine": description(),
            "rate_hz": sample_cost.RATE, "tool_rate_hz": TOOL_RATE, "rounds": args.rounds}
    try:
        scratch.chmod(0o755)
        shutil.copy(HERE / "stack.py", scratch)
        print(f"tachbpf bench on {description()}\n{AIMS}")
        with sample_cost.before_others(online_cpus() - 1), bpf_stats():
            if args.only != "tool":
                said["kernel"] = bench_kernel(found, scratch, args)
            if args.only != "kernel":
                said["tools"] = bench_tool(found, scratch, (5 if args.quick else 10) * args.seconds)
    finally:
        shutil.rmtree(scratch)
    if args.json:
        args.json.write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
