# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a sample costs at a low rate, when no cache keeps what the last one read.

The target is alone on its CPU (sample_cost.before_others()), and only that CPU is sampled. The profiler's
counters are read every 10 ms, so below 100 Hz they tell what each single run took; at higher rates the
mean of some runs. Only runs that found the target count: an interval in which it lost its CPU is left out.
"""
import contextlib
import statistics
import subprocess
import time
from dataclasses import dataclass, field

import sample_cost
from processes import cpu_s
from recording import Recording, succeeded

EVERY_S = 0.01
OURS = 0.5              # of an interval the target must have had the CPU, as the scheduler's tick counts
WALKED_MIB = 64
# Runs that are wanted of a recording, by its rate
RUNS = {19: 24, 99: 60, 999: 400, 10000: 3000}
SETTLE_S, SETTLE_TICKS = 0.3, 3     # the first samples have every name sent and resolved


@dataclass
class Cold:
    """Of some recordings of a target."""
    ns: list = field(default_factory=list)      # of each run, or the mean of some
    rounds: list = field(default_factory=list)  # the median of each recording
    user_s: float = 0
    samples: int = 0
    truncated: int = 0
    late: int = 0
    misses: list = field(default_factory=list)  # cache misses a run, of each recording that has counters

    def median(self):
        return statistics.median(self.ns)

    def quartiles(self):
        return statistics.quantiles(self.ns, n=4)[::2]

    def user_us(self):
        """CPU time of the recorder for a sample."""
        return 1e6 * self.user_s / len(self.ns)


def runs(windows):
    """What each run took, of those that found the target for sure."""
    return [w.ns / w.ticks for w, after in zip(windows, windows[1:])
            if w.target > OURS * w.clock and not w.arrivals and not after.arrivals
            for _ in range(w.ticks)]


def cache_misses(meter, seconds):
    """Of a run of the profiler's program, by perf; None without counters, or by a perf that cannot
    count a BPF program's events."""
    before = meter.read()
    with contextlib.suppress(OSError, ValueError, IndexError, KeyError, subprocess.TimeoutExpired):
        done = subprocess.run(
            ["perf", "stat", "-x,", "-e", "cache-misses", "-b", meter.program_id(), "--",
             "sleep", str(seconds)], capture_output=True, text=True, timeout=60, check=False)
        count = int(done.stderr.strip().splitlines()[-1].split(",")[0])
        return count / max(1, (meter.read() - before).ticks)
    return None


def number_of_runs(rate):
    return RUNS.get(rate) or max(24, round(0.5 * rate))


def measure(into, pid, cpu, scratch, rate, counters=False):
    """Adds one recording of a process that is spinning() on a CPU; in bpf_stats() and before_others()."""
    output, wanted = scratch / "cold.tach", number_of_runs(rate)
    with Recording(["-a", "-C", cpu, "-r", rate, "-o", output, "--force", "--json"]) as recording:
        recording.wait_recording(cpus=1)
        time.sleep(SETTLE_S + SETTLE_TICKS / rate)
        meter = sample_cost.Meter(recording.process.pid, pid)
        before = cpu_s(recording.process.pid)
        found = runs(meter.windows(round(wanted / rate / EVERY_S) + 1, EVERY_S))
        into.user_s += cpu_s(recording.process.pid) - before
        if counters:
            into.misses += [m for m in (cache_misses(meter, wanted / rate),) if m is not None]
        summary = succeeded(recording.stop()).summary
    if not found:
        raise SystemExit("bench-cold: the target gets no CPU")
    into.ns += found
    into.rounds.append(statistics.median(found))
    into.samples += summary["samples"]
    into.truncated += summary["truncated"]
    into.late += summary["late"]
