# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a sample costs in the kernel and in user space, on a machine that may be busy.

The target is alone on its CPU as far as the scheduler can do that (before_others()), only that CPU
is sampled, and a recording is cut into short windows: the fastest is what the code takes, in the
others something else had the CPU's caches. Times are the kernel's own (bpf_stats).
"""
import contextlib
import ctypes
import mmap
import os
import re
import subprocess
import time
from dataclasses import astuple, dataclass
from pathlib import Path

from bpf_objects import fields, held
from processes import arrivals, cpu_s, kill, online_cpus
from recording import Recording, succeeded

RATE = 10000
PRIORITY = 50           # of SCHED_FIFO
WINDOW_S = 0.1
OURS = 0.8              # of a window's time the target must have had the CPU
# enum bpf_prog_type and bpf_map_type of include/uapi/linux/bpf.h
PERF_EVENT, RING_BUFFER = "7", "27"
PIDFD_GETFD = 438       # include/uapi/asm-generic/unistd.h


@contextlib.contextmanager
def before_others(cpu):
    """We and what we start run before everything else on the machine, and leave one CPU to the
    target. With one CPU it would have the profiler wait for ever: nothing is changed."""
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    allowed = os.sched_getaffinity(0)
    if online_cpus() > 1:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        os.sched_setaffinity(0, set(range(online_cpus())) - {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
        os.sched_setscheduler(0, policy, parameter)


@contextlib.contextmanager
def another(binary):
    """What records is that tachbpf."""
    before = os.environ.get("TACHBPF")
    os.environ["TACHBPF"] = str(binary)
    try:
        yield
    finally:
        os.environ.pop("TACHBPF")
        if before:
            os.environ["TACHBPF"] = before


def rss_mib(pid):
    """Of that process alone."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


@contextlib.contextmanager
def spinning(interpreter, cpu, *argv):
    """A script that says "ready" and burns one CPU: its process id."""
    process = subprocess.Popen(
        ["taskset", "-c", str(cpu), *interpreter.command(*argv)],
        stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        if process.stdout.readline() != "ready\n":
            raise SystemExit(f"bench: {interpreter} did not start")
        yield process.pid
    finally:
        kill(process)


def busy(interpreter, scratch, depth, kind, cpu, mib=0):
    """A process that burns one CPU under a stack of that depth, and walks through that much memory;
    scratch has stack.py."""
    return spinning(interpreter, cpu, scratch / "stack.py", depth, kind, *[mib] * bool(mib))


@dataclass
class Counts:
    """At one moment."""
    clock: float        # s
    target: float       # s of CPU that the target has had
    user: float         # s of CPU that the profiler has had
    ticks: int          # runs of its perf-event program
    ns: int             # that they took
    ring: int           # bytes that were put into its ring buffer
    arrivals: int       # how often the target was given a CPU

    def __sub__(self, before):
        return Counts(*(now - then for now, then in zip(astuple(self), astuple(before))))


def copy_of(pid, fd):
    """A descriptor of another process as one of ours."""
    pidfd = os.pidfd_open(pid)
    ours = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, pidfd, fd, 0)
    os.close(pidfd)
    if ours < 0:
        raise OSError(ctypes.get_errno(), f"no copy of descriptor {fd} of process {pid}")
    return ours


def ring_position(pid, fd):
    """A function: how many bytes were ever put into a process' ring buffer (its producer's page,
    kernel/bpf/ringbuf.c)."""
    ours = copy_of(pid, fd)
    page = mmap.mmap(ours, mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ, offset=mmap.PAGESIZE)
    os.close(ours)
    return lambda: int.from_bytes(page[:8], "little")


class Meter:
    """Reads Counts of a profiler and the target that it samples."""

    def __init__(self, profiler, target):
        self.profiler, self.target = profiler, target
        # A link has a program, too, but no type. What is tail-called is counted where that began.
        self.programs = {said["prog_id"]: Path(f"/proc/{profiler}/fdinfo/{fd}") for fd, said
                         in held(profiler, "prog_id").items() if said.get("prog_type") == PERF_EVENT}
        rings = [fd for fd, said in held(profiler, "map_id").items()
                 if said.get("map_type") == RING_BUFFER]
        self.ring = ring_position(profiler, rings[0]) if rings else lambda: 0

    def read(self):
        said = [fields(program) for program in self.programs.values()]
        return Counts(time.monotonic(), cpu_s(self.target), cpu_s(self.profiler),
                      sum(int(s["run_cnt"]) for s in said),
                      sum(int(s["run_time_ns"]) for s in said), self.ring(),
                      arrivals(self.target))

    def drop_idle(self):
        """Reads only the programs that run: for those that hold many."""
        self.programs = {i: p for i, p in self.programs.items() if int(fields(p)["run_cnt"])}

    def windows(self, number, seconds=WINDOW_S):
        """What was counted in so many windows."""
        marks = [self.read()]
        for _ in range(number):
            time.sleep(seconds)         # the interval that is measured
            marks.append(self.read())
        return [after - before for before, after in zip(marks, marks[1:])]


def samples(window):
    """Ticks that found the target: those in other processes cost nearly nothing."""
    return window.ticks * min(1, window.target / window.clock)


@dataclass
class Cost:
    """Of the samples of one recording, a sample each."""
    kernel_ns: list     # a window each
    user_us: list       # a window each
    ring_bytes: float
    file_bytes: float
    hit: float          # samples a tick


def measure(pid, cpu, scratch, number):
    """A Cost of a process that is spinning() on a CPU, in so many windows; in bpf_stats() and
    before_others()."""
    output = scratch / "cost.tach"
    argv = ["-p", pid, "-C", cpu, "-r", RATE, "-o", output, "--force", "--json"]
    with Recording(argv) as recording:
        recording.wait_recording(cpus=1)
        time.sleep(0.3)                 # the first samples have every name sent and resolved
        found = Meter(recording.process.pid, pid).windows(number)
        summary = succeeded(recording.stop()).summary
    size = output.stat().st_size
    output.unlink()
    ours = [w for w in found if w.ticks and w.target > OURS * w.clock]
    if not ours:
        raise SystemExit(f"bench: the target gets no CPU: {found}")
    return Cost([w.ns / samples(w) for w in ours], [1e6 * w.user / samples(w) for w in ours],
                sum(w.ring for w in ours) / sum(map(samples, ours)), size / summary["samples"],
                summary["samples"] / summary["ticks"]["delivered"])
