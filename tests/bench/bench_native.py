#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bench_native.py: what frames of machine code cost: in the kernel, in memory, and beside the peers.

Kernel cost is bpf_stats' of the perf-event program, with the target alone on one CPU (bench.py). A
program has 20 Python frames and so many C functions of ours; what starts a program and calls C comes
to them, so the cost of a frame is taken from the differences. --peer BINARY: the same without
--native, by another build of tachbpf.
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
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e" / "lib")]

import bench  # noqa: E402
import chains  # noqa: E402
import interpreters  # noqa: E402
import sample_cost  # noqa: E402
from bpf_objects import bpf_stats  # noqa: E402
from paths import TARGETS  # noqa: E402
from processes import family, kill, online_cpus  # noqa: E402
from pypi import PyPI, path_of  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

PYTHON, NATIVE = 20, (0, 5, 20, 60)
RATE, WINDOWS = 5000, 25
AIM_FRAME_NS, AIM_SAMPLE_NS, AIM_RSS_MIB = 60, 3000, 96
INTERPRETERS = ("pyenv-3.13.0", "system-3.11", "pyenv-3.6.15", "sid-3.15")
LARGE = (("numpy", "NumPy", ("numpy==2.3.4",)), ("pandas", "pandas", ("pandas==2.3.3",)),
         ("pyarrow", "pyarrow", ("pyarrow==22.0.0",)))


@contextlib.contextmanager
def running(argv, cpu=None):
    # so that nearly all ticks of that CPU are its, whatever else the machine does
    alone = ["nice", "-n", "-20", "taskset", "-c", str(cpu)] if cpu is not None else []
    process = subprocess.Popen([*alone, *argv],
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        if process.stdout.readline() != "ready\n":
            raise SystemExit(f"bench-native: {argv} did not start")
        yield process.pid
    finally:
        kill(process)


def stack_of(interpreter, scratch, native):
    return interpreter.command(scratch / "native_stack.py", chains.build(interpreter, scratch),
                               PYTHON, native)


def kernel_ns(pid, cpu, scratch, options, seconds):
    """(ns a sample, samples a tick, frames of machine code a sample): the fastest of the windows
    is what the code takes, others had the CPU's caches disturbed; the median is told beside it."""
    others = ",".join(str(c) for c in range(online_cpus()) if c != cpu) or str(cpu)
    known = bench.perf_programs()
    argv = ["-p", pid, "-C", cpu, "-r", RATE, "-o", scratch / "bench.tach", "--force", "--json",
            *options]
    with Recording(argv, prefix=["taskset", "-c", others]) as recording:
        recording.wait_recording(cpus=1)
        time.sleep(1.5)                 # the first samples have no tables
        windows = [bench.window(recording.process.pid, known, seconds / WINDOWS)
                   for _ in range(WINDOWS)]
        summary = succeeded(recording.stop()).summary
    hit = summary["samples"] / summary["ticks"]["delivered"]
    costs = [ns / (ticks * hit) for ticks, ns, _ in windows if ticks]
    native = summary.get("native", {}).get("frames", 0) / max(1, summary["samples"])
    return min(costs), statistics.median(costs), native


def bench_kernel(found, scratch, seconds, peer):
    cpu = online_cpus() - 1
    print(f"kernel: ns a sample (the fastest window, the median) with {PYTHON} Python frames at "
          f"{RATE} Hz; aims: {AIM_FRAME_NS} ns a C frame, {AIM_SAMPLE_NS} ns at 20 + 20 on 3.13")
    print(f"{'interpreter':14}{'C frames':>9}{'walked':>8}{'native':>14}{'without':>14}"
          + f"{'peer without':>16}" * bool(peer))
    for interpreter in found:
        rows = {}
        for native in NATIVE:
            with bpf_stats(), running(stack_of(interpreter, scratch, native), cpu) as pid:
                low, median, walked = kernel_ns(pid, cpu, scratch, ["--native=full"], seconds)
                off = kernel_ns(pid, cpu, scratch, [], seconds)[:2]
                said = ""
                if peer:
                    with sample_cost.another(peer):
                        said = "%8.0f %7.0f" % kernel_ns(pid, cpu, scratch, [], seconds)[:2]
            rows[native] = (low, walked)
            print(f"{interpreter.name:14}{native:9}{walked:8.1f}{low:7.0f}{median:7.0f}"
                  f"{off[0]:7.0f}{off[1]:7.0f}{said}", flush=True)
        most, least = rows[NATIVE[-1]], rows[NATIVE[0]]
        print(f"{interpreter.name:14}a C frame: {(most[0] - least[0]) / (most[1] - least[1]):.0f} ns")


def memory_mib(pid):
    """(RSS of the main process, PSS of all its processes)."""
    def field(process, name):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
            return int(text.split(name + ":")[1].split()[0]) / 1024
        return 0
    return field(pid, "Rss"), sum(field(p, "Pss") for p in family(pid))


def bench_memory(scratch, seconds):
    by_name = {i.name: i for i in interpreters.discover()}
    interpreter = by_name["pyenv-3.12.1"]
    print(f"\nmemory with {', '.join(name for name, *_ in LARGE)} at work, after {seconds:.0f} s "
          f"(aim: RSS {AIM_RSS_MIB} MiB)")
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(running(interpreter.command(
            "-B", TARGETS / "libraries.py", name, path_of(PyPI(program, interpreter, packages)))))
            for name, program, packages in LARGE]
        for options in ([], ["--native"]):
            with Recording(["-p", ",".join(map(str, pids)), "-o", scratch / "memory", "--force",
                            "--json", *options]) as recording:
                recording.wait_recording()
                time.sleep(seconds)
                rss, pss = memory_mib(recording.process.pid)
                summary = succeeded(recording.stop()).summary
            native = summary.get("native", {})
            print(f"{' '.join(options) or 'without':10} RSS {rss:6.1f} MiB, all processes' PSS "
                  f"{pss:6.1f} MiB, tables in the kernel {native.get('memory_bytes', 0) / 2**20:.1f}"
                  f" MiB, {native.get('tables', 0)} tables built in "
                  f"{native.get('build_us', 0) / 1e6:.2f} s ({native.get('tables_cached', 0)} cached)")


def bench_tools(scratch, seconds):
    """CPU % of a profiler that samples 20 Python and 20 C frames at 999 Hz."""
    by_name = {i.name: i for i in interpreters.discover()}
    cpu = online_cpus() - 1
    with running(stack_of(by_name["system-3.11"], scratch, 20), cpu) as pid:
        for options in ([], ["--native"]):
            known = bench.perf_programs()
            with bpf_stats(), Recording(["-p", pid, "-r", bench.TOOL_RATE, "-o", scratch / "tool",
                                         "--force", *options]) as recording:
                recording.wait_recording()
                time.sleep(1)
                before = bench.perf_programs()
                own = bench.measured_cpu(recording.process.pid, seconds)
                after = bench.perf_programs()
                succeeded(recording.stop())
            kernel = 100 * sum(after[i][1] - before[i][1] for i in after if i in before and
                               i not in known) / 1e9 / seconds
            bench.say("tachbpf " + " ".join(options), "system-3.11", own + kernel,
                      f"user {own:.2f} + kernel {kernel:.2f}")
        spy = bench.pyspy(scratch)
        peers = {"py-spy --native": spy and [spy, "record", "--native", "-r", "999", "-d", "600",
                                             "-f", "raw", "-o", scratch / "spy", "-p", pid],
                 "perf --call-graph dwarf": shutil.which("perf") and [
                     "perf", "record", "-q", "-F", "999", "-e", "cpu-clock", "--call-graph",
                     "dwarf", "-p", pid, "-o", scratch / "perf.data"]}
        for name, argv in peers.items():
            if not argv:
                print(f"{name}: missing")
                continue
            percent, why = bench.tool_peer(list(map(str, argv)), seconds)
            if percent is None:
                print(f"{name}: did not run: {why}")
            else:
                bench.say(name, "system-3.11", percent)
        if (scratch / "perf.data").exists():
            size = (scratch / "perf.data").stat().st_size
            start = time.monotonic()
            subprocess.run(["perf", "script", "--no-inline", "-i", scratch / "perf.data"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            print(f"  perf wrote {size / 2**20:.0f} MiB; perf script took "
                  f"{time.monotonic() - start:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=3.5)
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--interpreter", action="append")
    parser.add_argument("--only", choices=("kernel", "memory", "tools"))
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("bench-native: needs root")
    wanted = args.interpreter or INTERPRETERS
    found = [i for i in interpreters.discover() if i.name in wanted]
    scratch = Path(tempfile.mkdtemp(prefix="tachbpf-bench-", dir="/tmp"))
    scratch.chmod(0o755)
    shutil.copy(HERE / "native_stack.py", scratch)
    try:
        if args.only in (None, "kernel"):
            bench_kernel(found, scratch, args.seconds, args.peer)
        if args.only in (None, "memory"):
            bench_memory(scratch, 15)
        if args.only in (None, "tools"):
            bench_tools(scratch, 2 * args.seconds)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
