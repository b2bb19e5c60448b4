# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a sample costs at a low rate, when no cache keeps what the last one read.

The target is alone on its CPU (sample_cost.before_others()), and only that CPU is sampled. The profiler's
counters are read every 10 ms, so below 100 Hz they tell what each single run took; at higher rates the
mean of some runs. Only runs that found the target count: an interval in which it lost its CPU is left out.
"""
import contextlib
import fcntl
import os
import statistics
import subprocess
import time
from dataclasses import dataclass, field

import sample_cost
from recording import Recording, succeeded

EVERY_S = 0.01
OURS = 0.5              # of an interval the target must have had the CPU, as the scheduler's tick counts
WALKED_MIB = 64
# Runs that are wanted of a recording, by its rate
RUNS, SLOTS = {19: 36, 99: 90, 999: 600, 10000: 3000}, 6
ENABLE, DISABLE = 0x2400, 0x2401    # PERF_EVENT_IOC_*, include/uapi/linux/perf_event.h
SETTLE_S, SETTLE_TICKS = 0.3, 3     # the first samples have every name sent and resolved


@dataclass
class Cold:
    """Of some recordings of a target."""
    ns: list = field(default_factory=list)      # of each run, or the mean of some
    rounds: list = field(default_factory=list)  # the median of each recording
    samples: int = 0
    truncated: int = 0
    late: int = 0
    misses: list = field(default_factory=list)  # cache misses a run, of each recording that has counters

    def median(self):
        return statistics.median(self.ns)

    def quartiles(self):
        return statistics.quantiles(self.ns, n=4)[::2]

    def row(self):
        """Of the JSON file."""
        low, high = self.quartiles()
        return {"ns": round(self.median()), "low": round(low), "high": round(high),
                "runs": len(self.ns), "rounds": [round(r) for r in self.rounds],
                "samples": self.samples, "truncated": self.truncated, "late": self.late,
                "misses": round(statistics.mean(self.misses), 1) if self.misses else None}


def runs(windows):
    """What each run took, of those that found the target for sure."""
    return [w.ns / w.ticks for w, after in zip(windows, windows[1:])
            if w.target > OURS * w.clock and not w.arrivals and not after.arrivals
            for _ in range(w.ticks)]


def cache_misses(meter, seconds):
    """[Of a run of the profiler's program], by perf; empty without counters, or if that perf cannot
    count a BPF program's events."""
    before = meter.read()
    with contextlib.suppress(OSError, ValueError, IndexError, KeyError, subprocess.TimeoutExpired):
        done = subprocess.run(
            ["perf", "stat", "-x,", "-e", "cache-misses", "-b", ",".join(meter.programs), "--",
             "sleep", str(seconds)], capture_output=True, text=True, timeout=60, check=False)
        count = int(done.stderr.strip().splitlines()[-1].split(",")[0])
        return [count / max(1, (meter.read() - before).ticks)]
    return []


@contextlib.contextmanager
def recorded(cpu, rate, output):
    """(Recording, function that starts or stops its clock) of a CPU."""
    with Recording(["-a", "-C", cpu, "-r", rate, "-o", output, "--force", "--json"]) as recording, \
            contextlib.ExitStack() as copies:
        recording.wait_recording(cpus=1)
        events = [sample_cost.copy_of(recording.process.pid, fd)
                  for fd in recording.perf_event_fds()]
        for event in events:
            copies.callback(os.close, event)
        yield recording, lambda what: [fcntl.ioctl(event, what) for event in events]


def runs_wanted(rate):
    """Of a recording."""
    return RUNS.get(rate) or max(36, rate // 2)


def slot(into, recording, clock, pid, seconds):
    """Adds what a recording's runs take in an interval in which it alone ticks."""
    meter = sample_cost.Meter(recording.process.pid, pid)
    clock(ENABLE)
    found = runs(meter.windows(round(seconds / EVERY_S) + 1, EVERY_S))
    clock(DISABLE)
    into.ns += found
    return found


def ended(into, recording):
    summary = succeeded(recording.stop()).summary
    into.samples += summary["samples"]
    into.truncated += summary["truncated"]
    into.late += summary["late"]


def measure(colds, programs, pid, cpu, scratch, rate, counters=False):
    """Adds a recording by each program to its Cold, of a process that is spinning() on a CPU; in
    bpf_stats() and before_others(). All of them run, but the clocks of all but one stand still, each
    for some slots: whatever else the machine does meets them alike, and none finds what another one
    has read a moment before."""
    seconds = runs_wanted(rate) / rate
    with contextlib.ExitStack() as stack:
        all_of_them = []
        for at, program in enumerate(programs):
            with sample_cost.another(program):
                all_of_them.append(stack.enter_context(
                    recorded(cpu, rate, scratch / f"cold-{at}.tach")))
        time.sleep(SETTLE_S + SETTLE_TICKS / rate)
        for _, clock in all_of_them:
            clock(DISABLE)
        found = [[] for _ in programs]
        for turn in range(SLOTS):
            for at in sorted(range(len(programs)), reverse=turn % 2):
                found[at] += slot(colds[at], *all_of_them[at], pid, seconds / SLOTS)
        for at, (recording, clock) in enumerate(all_of_them):
            if not found[at]:
                raise SystemExit("bench-cold: the target gets no CPU")
            colds[at].rounds.append(statistics.median(found[at]))
            if counters:
                clock(ENABLE)
                colds[at].misses += cache_misses(sample_cost.Meter(recording.process.pid, pid), seconds)
                clock(DISABLE)
            ended(colds[at], recording)
