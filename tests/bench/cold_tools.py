# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bench_cold.py's whole profilers: tachbpf without and with --native, and OpenTelemetry's, which unwinds
machine code, too.

All of them record every process of one CPU, which the target has for itself. OpenTelemetry's needs a
server that takes its profiles: a Collector, or anything that answers.
"""
import contextlib
import statistics
import time
from dataclasses import asdict, dataclass

import cold_cost
import sample_cost
from bench_events import peer
from processes import wait_until
from recording import Recording, succeeded

RATES = (19, 99, 999)
OPENTELEMETRY = "OpenTelemetry's profiler"
SECONDS = 10            # its reports are 5 s apart
SETTLE_S = 5            # mappings and unwind tables are read after the start


@dataclass
class Tool:
    """What a profiler took at a rate."""
    tool: str
    rate: int
    ns: float           # a run in the kernel, the median
    kernel: float       # % of a CPU
    user: float         # % of a CPU
    rss_mib: float      # of its main process


@contextlib.contextmanager
def ours(options, rate, cpu, scratch):
    """The process id of a tachbpf."""
    with Recording(["-a", "-C", cpu, "-r", rate, "-o", scratch / "tool.tach", "--force",
                    *options]) as recording:
        recording.wait_recording(cpus=1)
        yield recording.process.pid
        succeeded(recording.stop())


@contextlib.contextmanager
def opentelemetry(binary, server, rate, cpu):
    """The process id of OpenTelemetry's profiler, once it samples."""
    with peer([str(binary), "-disable-tls", "-collection-agent", server, "-samples-per-second",
               str(rate), "-pin-cpu-ids", str(cpu)]) as process:
        meter = sample_cost.Meter(process.pid, process.pid)
        wait_until(lambda: process.poll() is not None or meter.read().ticks, f"samples of {binary}")
        if process.poll() is not None:
            raise SystemExit(f"bench-cold: {binary} has ended")
        yield process.pid


def measured(name, profiler, target, rate):
    time.sleep(SETTLE_S)
    meter = sample_cost.Meter(profiler, target)
    meter.drop_idle()
    windows = meter.windows(round(SECONDS / cold_cost.EVERY_S), cold_cost.EVERY_S)
    clock = sum(w.clock for w in windows)
    return Tool(name, rate, statistics.median(cold_cost.runs(windows)),
                sum(w.ns for w in windows) / clock / 1e7, 100 * sum(w.user for w in windows) / clock,
                sample_cost.rss_mib(profiler))


def profilers(rate, cpu, scratch, args):
    """(name, context manager that gives a process id) of each."""
    yield "tachbpf", ours([], rate, cpu, scratch)
    yield "tachbpf --native", ours(["--native"], rate, cpu, scratch)
    if args.otel:
        yield OPENTELEMETRY, opentelemetry(args.otel, args.otel_server, rate, cpu)


def bench_tools(target, cpu, scratch, args):
    """Measures, prints, and returns rows of figures."""
    print(f"\nwhole profilers that record everything on one CPU, {SECONDS} s each: ns a run in the kernel "
          "(median),\n% of a CPU in the kernel's programs and in the profiler's process, RSS of that process")
    print(f"{'Hz':>6}  {'':26}{'ns':>9}{'kernel %':>10}{'user %':>9}{'MiB':>8}", flush=True)
    found = []
    for rate in (r for r in RATES if r in args.rate):
        for name, profiler in profilers(rate, cpu, scratch, args):
            with profiler as pid:
                tool = measured(name, pid, target, rate)
            found.append(asdict(tool))
            print(f"{rate:6}  {name:26}{tool.ns:9,.0f}{tool.kernel:10.3f}{tool.user:9.3f}"
                  f"{tool.rss_mib:8.1f}", flush=True)
    return found
