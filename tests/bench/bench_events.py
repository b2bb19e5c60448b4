#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-events: what one event costs the program in which it happens: a system call's tracepoint with
tachbpf, with perf record -g (C functions by frame pointers, no Python) and, if it is installed, with bpftrace (the
same stack, counted in the kernel); then a uprobe and a USDT probe with tachbpf.

CPU time of bursts, bare and recorded in turn, the median of the rounds. ns a run are the kernel's own count of our
program (bpf_stats), in a round of its own.
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

from bpf_objects import bpf_programs, bpf_stats  # noqa: E402
from processes import kill  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

EVENT = "syscalls:sys_enter_getppid"
DEPTHS = (5, 30)


class Work:
    def __init__(self, python, depth):
        self.process = subprocess.Popen([python, HERE / "events_work.py", str(depth)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == "ready\n"

    @property
    def pid(self):
        return self.process.pid

    def round(self):
        """ns a call"""
        print(file=self.process.stdin, flush=True)
        spent, calls = map(int, self.process.stdout.readline().split())
        return spent / calls


@contextlib.contextmanager
def tachbpf(event, pid, scratch):
    with Recording(["-p", pid, "-e", event, "-o", scratch / f"{time.monotonic_ns()}.tach",
                    "--json"]) as recording:
        recording.wait_recording(cpus=1)
        yield
        summary = succeeded(recording.stop()).summary
    if summary["lost_total"]:
        print(f"    lost: {summary['lost_total']}, of {summary['events']['seen']}")


@contextlib.contextmanager
def peer(argv):
    """A peer in a mount namespace with tracefs, once it holds its events: its process."""
    script = "mount -t tracefs none /sys/kernel/tracing 2>/dev/null; exec " + " ".join(argv)
    process = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        deadline = time.monotonic() + 30
        while not any("perf_event" in os.readlink(fd) for fd in open_files(process.pid)):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"bench: {argv[0]} does not record")
            time.sleep(0.05)
        time.sleep(0.5)
        yield process
        process.terminate()
        process.wait()
    finally:
        kill(process)


def open_files(pid):
    with contextlib.suppress(OSError):
        for fd in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                os.readlink(fd)
                yield fd


def compare(name, work, rounds, recorded):
    bare, with_it = [], []
    for _ in range(rounds):
        bare.append(work.round())
        with recorded():
            with_it.append(work.round())
    cost = statistics.median(with_it) - statistics.median(bare)
    print(f"  {name:44} {statistics.median(bare):7,.0f} ns a call, {cost:+7,.0f} ns with the event",
          flush=True)
    return cost


def in_kernel(program, work, scratch, event):
    with tachbpf(event, work.pid, scratch), bpf_stats():
        before = bpf_programs(program)
        work.round()
        after = bpf_programs(program)
    runs, ns = (sum(v[i] for v in after.values()) - sum(v[i] for v in before.values())
                for i in (0, 1))
    print(f"    {runs:,} runs, {ns / max(1, runs):,.0f} ns a run (bpf_stats)", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--python", default="/usr/bin/python3")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-events-", dir="/tmp") as name:
        scratch = Path(name)
        for depth in DEPTHS:
            work = Work(args.python, depth)
            pid = work.pid
            print(f"{args.python}, {depth + 2} Python functions deep:", flush=True)
            try:
                ours = compare(f"tachbpf -e {EVENT}", work, args.rounds,
                               lambda: tachbpf(EVENT, pid, scratch))
                in_kernel("on_event_tracepoint", work, scratch, EVENT)
                peers = [("perf record -g", "perf",
                          ["perf", "record", "-q", "-g", "-e", EVENT, "-c", "1", "-p", str(pid), "-o",
                           str(scratch / "perf.data")]),
                         ("bpftrace @[ustack] = count()", "bpftrace",
                          ["bpftrace", "-p", str(pid), "-e",
                           f"'tracepoint:{EVENT} /pid == {pid}/ {{ @[ustack] = count(); }}'"])]
                for title, program, argv in peers:
                    if not shutil.which(program):
                        print(f"  {title}: {program} is not installed")
                        continue
                    theirs = compare(title, work, args.rounds, lambda argv=argv: peer(argv))
                    print(f"    tachbpf's cost is {ours / theirs:.2f} of it")
                compare("tachbpf -e uprobe:libc:getppid", work, args.rounds,
                        lambda: tachbpf("uprobe:libc:getppid", pid, scratch))
                in_kernel("on_event_probe", work, scratch, "uprobe:libc:getppid")
            finally:
                kill(work.process)


if __name__ == "__main__":
    main()
