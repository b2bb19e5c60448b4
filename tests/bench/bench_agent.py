#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-agent: what `tachbpf agent` costs a host, against the aims.

All processes of the agent are in a cgroup of their own, whose CPU time the kernel counts; the time of its
BPF programs is the kernel's count (bpf_stats), which itself costs some ns a run. A server of our own takes
what it sends. --peer: an opentelemetry-ebpf-profiler that somebody has built, beside it. --beside: another
build of tachbpf, whose memory is measured as well.
"""
import argparse
import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import cgroups  # noqa: E402
import interpreters  # noqa: E402
from agent import Agent, decoded  # noqa: E402
from bpf_objects import bpf_stats, held  # noqa: E402
from http_sink import Sink  # noqa: E402
from processes import cpu_s, kill, online_cpus  # noqa: E402

PYTHON = "/usr/bin/python3"
BUSY, SERVICES = 20, 50
CONTAINERS, PROCESSES = 50, 500
WARM_S = 5              # names are resolved, tables have their size
WARM_PEER_S = 30        # it takes up to 14 s to start
# What is done per window, twice as often: the difference of two runs is what windows cost.
SHORT, LONG = 3, 15


class Group:
    """A cgroup of v2 for what is measured."""

    def __init__(self, tree, name):
        self.directory = tree.make(name)

    def prefix(self):
        return cgroups.enter(self.directory, [])

    def pids(self):
        return [int(pid) for pid in (self.directory / "cgroup.procs").read_text().split()]

    def cpu_s(self):
        text = (self.directory / "cpu.stat").read_text()
        return int(re.search(r"usage_usec (\d+)", text)[1]) / 1e6

    def memory_by_process(self):
        """Name -> (RSS, PSS) of each of its processes, MiB."""
        found = {}
        for pid in self.pids():
            with contextlib.suppress(OSError):
                rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                name = Path(f"/proc/{pid}/comm").read_text().strip()
                found[name] = tuple(int(re.search(rf"^{field}:\s+(\d+)", rollup, re.M)[1]) / 1024
                                    for field in ("Rss", "Pss"))
        return found

    def memory(self):
        """(RSS, PSS) of all its processes, MiB."""
        return tuple(map(sum, zip(*self.memory_by_process().values()))) or (0, 0)


def maps_of(pid):
    """Name -> MiB of the kernel's memory, of the BPF maps that a process holds."""
    shown = subprocess.run(["bpftool", "map", "show", "-j"], capture_output=True, text=True,
                           check=True).stdout
    names, found = {m["id"]: m.get("name", "?") for m in json.loads(shown)}, {}
    by_id = {int(said["map_id"]): int(said["memlock"]) for said in held(pid, "map_id").values()}
    for number, size in by_id.items():
        name = names.get(number, "?")
        found[name] = found.get(name, 0) + size / 2**20
    return found


def bpf_times():
    """id -> ns of every BPF program in the kernel."""
    shown = subprocess.run(["bpftool", "prog", "show", "-j"], capture_output=True, text=True,
                           check=True).stdout
    return {p["id"]: p.get("run_time_ns", 0) for p in json.loads(shown)}


class Meter:
    """CPU shares of a group and of the BPF programs that were not there before it."""

    def __init__(self, group, known):
        self.group, self.known = group, known

    def ours(self):
        return sum(ns for i, ns in bpf_times().items() if i not in self.known) / 1e9

    def over(self, seconds):
        """(user space, BPF) in % of one CPU."""
        start, cpu, bpf = time.monotonic(), self.group.cpu_s(), self.ours()
        time.sleep(seconds)
        cpu, bpf = self.group.cpu_s() - cpu, self.ours() - bpf
        took = time.monotonic() - start
        return 100 * cpu / took, 100 * bpf / took


@contextlib.contextmanager
def pythons(tree, scratch, cnt, services=1, program="stack.py", *argv, python=(PYTHON,)):
    """So many of a program, under so many names; all are ready. SEED: another number for each."""
    where, running = tree.make("targets"), []
    try:
        for i in range(cnt):
            path = scratch / f"service{i % services:02}.py"
            if not path.exists():
                shutil.copy(HERE / program, path)
            running.append(subprocess.Popen(
                cgroups.enter(where, [*python, path, *(i if a == "SEED" else a for a in argv)]),
                stdout=subprocess.PIPE, text=True, start_new_session=True))
        for process in running:
            assert process.stdout.readline() == "ready\n"
        yield tree.path(where)
    finally:
        for process in running:
            kill(process)
        for path in scratch.glob("service*.py"):
            path.unlink()


@contextlib.contextmanager
def measured(tree, scratch, *flags):
    """An agent that records, its Meter, and the server that takes what it sends."""
    group = Group(tree, f"agent-{os.urandom(2).hex()}")
    known = set(bpf_times())
    work = Path(tempfile.mkdtemp(dir=scratch))
    with Sink() as sink, Agent(work, "--budget-cpu", "0", "--otlp-endpoint", sink.url, *flags,
                               prefix=group.prefix()) as agent:
        agent.wait_recording()
        yield agent, Meter(group, known), sink
        agent.end()


def say(name, value, unit, aim=None, note=""):
    verdict = "" if aim is None else f"   aim {aim:g}: {'met' if value <= aim else 'MISSED'}"
    print(f"{name:58} {value:9.3f} {unit}{verdict}{'   ' + note if note else ''}", flush=True)


def busy_pythons():
    """The oldest and the newest that there are from 3.11 on: name and command."""
    found = sorted((i for i in interpreters.discover() if i.minor >= (3, 11) and not i.refusal
                    and not i.free_threaded and not i.debug and i.libc == "glibc"),
                   key=lambda i: i.version)
    return [(i.name, i.command()) for i in (found[0], found[-1])]


def bench_busy(tree, scratch, args):
    for name, command in busy_pythons():
        with pythons(tree, scratch, BUSY, 1, "stack.py", "20", "distinct", python=command) as where:
            for rate, aim in ((19, 0.1), (99, 0.25)):
                with bpf_stats(), measured(tree, scratch, "--rate", rate, "--cgroup", where) as m:
                    time.sleep(WARM_S)
                    user, bpf = m[1].over(args.seconds)
                    say(f"{rate} Hz, {BUSY} busy {name}, stacks of 20", user + bpf, "% of a CPU", aim,
                        f"user {user:.3f}, BPF {bpf:.3f}")
                    say("   its memory", m[1].group.memory()[0], "MiB RSS", None,
                        f"PSS {m[1].group.memory()[1]:.1f}, {len(m[1].group.pids())} processes")


@contextlib.contextmanager
def build(path):
    """The agent of this tachbpf; None: the one that was built here."""
    before = os.environ.get("TACHBPF")
    if path:
        os.environ["TACHBPF"] = str(path)
    try:
        yield f" ({path})" if path else ""
    finally:
        if path and before is None:
            del os.environ["TACHBPF"]
        elif path:
            os.environ["TACHBPF"] = before


def mapped_twice(maps):
    """MiB of the ring buffer: the main process maps it, so it is in the PSS, too."""
    return maps.get("events", 0)


def say_maps(pid, aim, listed):
    """All of them, and those that take most."""
    maps = maps_of(pid)
    say("   its BPF maps", sum(maps.values()), "MiB", aim)
    for name, size in sorted(maps.items(), key=lambda m: -m[1])[:listed]:
        say(f"      {name}", size, "MiB")
    return sum(maps.values())


def bench_idle_memory(tree, scratch, args):
    for other in (None, *args.beside):
        with build(other) as label, \
                measured(tree, scratch, "--cgroup", "/tachbpf-nobody", "--rate", 19) as m:
            time.sleep(WARM_S)
            rss, pss = m[1].group.memory()
            say(f"idle, all processes of the agent{label}", pss, "MiB PSS", 12, f"RSS {rss:.1f}")
            for name, (rss, pss) in sorted(m[1].group.memory_by_process().items(),
                                           key=lambda p: -p[1][1]):
                say(f"      {name}", pss, "MiB PSS", None, f"RSS {rss:.1f}")
            say_maps(m[0].process.pid, 8, 6)


def bench_start(tree, scratch, args):
    with pythons(tree, scratch, 1, 1, "stack.py", "20", "distinct") as where:
        took = []
        for _ in range(3):
            start = time.monotonic()
            with measured(tree, scratch, "--cgroup", where, "--rate", 999):
                took.append(time.monotonic() - start)
        say("start until all CPUs tick, at most", max(took), "s", 1.0, "from fork() on")


def status(pid, what):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(dict(line.split(":", 1) for line in lines if ":" in line)[what].split()[0]) / 1024


def stacks_in(sink):
    """Most distinct stacks, services and bytes of a window."""
    windows = {}
    for posted in sink.taken():
        request = decoded(posted)
        for attributes, found in request.resources:
            for p in found:
                w = windows.setdefault(p["time"], (set(), set()))
                w[0].update(s for s, _, _ in p["samples"])
                w[1].add(attributes["service.name"])
    return max(((len(s), len(n)) for s, n in windows.values()), default=(0, 0))


def bench_large(tree, scratch, args):
    """A window of 100,000 stacks, or of as many as the machine has time for, 131,072 at most: say how
    many. What it takes depends on the code, too: 5 lines a function."""
    for functions, other in itertools.product((40, 400), (None, *args.beside)):
        with build(other) as label, \
                pythons(tree, scratch, SERVICES, SERVICES, "many_stacks.py", "SEED", functions) as where, \
                measured(tree, scratch, "--cgroup", where, "--rate", args.large_rate, "--window",
                         "60s") as m:
            agent, meter, sink = m
            peak = (0, 0)
            end = time.monotonic() + 130
            while time.monotonic() < end:
                peak = max(peak, meter.group.memory(), key=lambda seen: seen[1])
                time.sleep(0.2)
            maps = maps_of(agent.process.pid)
            ring, maps = mapped_twice(maps), sum(maps.values())
            main = status(agent.process.pid, "VmHWM")
        stacks, services = stacks_in(sink)
        note = (f"RSS {peak[0]:.1f}; a window of {services} services, each of {functions} functions, "
                f"and {stacks:,} stacks")
        say(f"all processes of the agent, at most, and maps{label}", peak[1] + maps - ring, "MiB PSS",
            32, note)
        say("   its BPF maps", maps, "MiB", None, f"with {ring:.1f} of the ring buffer, in PSS, too")
        say("   its main process", main, "MiB RSS")


def bench_windows(tree, scratch, args):
    """A window's CPU time: two lengths of windows, everything else the same."""
    used = {}
    with pythons(tree, scratch, SERVICES, SERVICES, "many_stacks.py", "SEED") as where:
        for window in (SHORT, LONG):
            with measured(tree, scratch, "--cgroup", where, "--rate", 19, "--window",
                          f"{window}s") as m:
                time.sleep(LONG)
                used[window] = m[1].over(60)[0] / 100 * 60
    extra = 60 / SHORT - 60 / LONG
    say(f"a window of {SERVICES} services, encoded and sent", 1e3 * (used[SHORT] - used[LONG]) / extra,
        "ms of CPU", 30, f"{used[SHORT]:.2f} s with windows of {SHORT} s, {used[LONG]:.2f} s of {LONG} s")


def bench_containers(tree, scratch, args):
    """500 Pythons in 50 containers, as far as the agent can see: cgroups with docker's names."""
    running, path = [], scratch / "duty.py"
    shutil.copy(HERE / "duty.py", path)
    containers = [tree.make("boxes", "docker", os.urandom(32).hex()) for _ in range(CONTAINERS)]
    try:
        for i in range(PROCESSES):
            running.append(subprocess.Popen(
                cgroups.enter(containers[i % CONTAINERS], [PYTHON, path, i / PROCESSES]),
                stdout=subprocess.PIPE, text=True, start_new_session=True))
        for process in running:
            assert process.stdout.readline() == "ready\n"
        with bpf_stats(), measured(tree, scratch, "--rate", 99, "--cgroup",
                                   tree.path(tree.top / "boxes")) as m:
            agent, meter, sink = m
            time.sleep(LONG)
            before = sum(cpu_s(p.pid) for p in running)
            start = time.monotonic()
            user, bpf = meter.over(args.seconds)
            used = (sum(cpu_s(p.pid) for p in running) - before) / (time.monotonic() - start)
            rss, pss = meter.group.memory()
            metrics = agent.metrics()
    finally:
        for process in running:
            kill(process)
    services = {a.get("container.id") for r in sink.taken() for a, _ in decoded(r).resources}
    say(f"99 Hz, {PROCESSES} Pythons in {CONTAINERS} containers", user + bpf, "% of a CPU", None,
        f"user {user:.3f}, BPF {bpf:.3f}; they use {100 * used:.0f} %; RSS {rss:.1f} MiB, PSS {pss:.1f}")
    say("   containers seen", len(services - {None}), f"of {CONTAINERS}")
    for name, value in metrics.items():
        if ("lost" in name or "dropped" in name) and value:
            say(f"   {name}", value, "")


def bench_peer(tree, scratch, args):
    """The same 20 processes under the other profiler, which sends to a Collector."""
    sys.path.insert(0, str(HERE.parent / "servers"))
    import recipes
    from services import Collector

    place = Path(tempfile.mkdtemp(dir=scratch))
    collector = Path(recipes.path_of(recipes.Collector()), "collector")
    with pythons(tree, scratch, BUSY, 1, "stack.py", "20", "distinct"), Sink() as sink, \
            Collector(place, collector, sink.url, debug="basic") as server:
        for rate in (19, 99):
            group, known = Group(tree, f"peer-{rate}"), set(bpf_times())
            with open(place / "peer.log", "w") as log, bpf_stats():
                before = len(sink.seen)
                process = subprocess.Popen(
                    [*group.prefix(), args.peer, "-collection-agent",
                     f"127.0.0.1:{server.grpc}", "-disable-tls", "-samples-per-second", str(rate)],
                    stdout=log, stderr=log, start_new_session=True)
                try:
                    time.sleep(WARM_PEER_S)
                    user, bpf = Meter(group, known).over(args.seconds)
                    rss, pss = group.memory()
                finally:
                    kill(process)
            say(f"{rate} Hz, opentelemetry-ebpf-profiler", user + bpf, "% of a CPU", None,
                f"user {user:.3f}, BPF {bpf:.3f}; RSS {rss:.0f} MiB, PSS {pss:.0f}; behind the "
                f"Collector came {len(sink.seen) - before} requests")


PARTS = {"idle": bench_idle_memory, "start": bench_start, "busy": bench_busy, "large": bench_large, "windows": bench_windows,
         "containers": bench_containers}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60, help="of each share of a CPU")
    parser.add_argument("--only", choices=[*PARTS, "peer"], action="append")
    parser.add_argument("--large-rate", type=int, default=930, help="Hz of the part large")
    parser.add_argument("--beside", type=Path, action="append", default=[],
                        help="another build's tachbpf, for the parts idle and large")
    parser.add_argument("--peer", type=Path, help="an opentelemetry-ebpf-profiler")
    args = parser.parse_args()
    if os.geteuid() != 0 or not cgroups.v2():
        raise SystemExit("bench-agent: needs root and cgroup v2: sudo make bench-agent")
    scratch = Path(tempfile.mkdtemp(prefix="tachbpf-bench-", dir="/tmp"))
    scratch.chmod(0o755)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))      # its Pythons end, too
    print(f"tachbpf agent on {online_cpus()} CPUs, kernel {os.uname().release}")
    try:
        for name, part in PARTS.items():
            if name in (args.only or PARTS):
                with cgroups.Tree(cgroups.v2()) as tree:
                    part(tree, scratch, args)
        if args.peer and "peer" in (args.only or ["peer"]):
            with cgroups.Tree(cgroups.v2()) as tree:
                bench_peer(tree, scratch, args)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
