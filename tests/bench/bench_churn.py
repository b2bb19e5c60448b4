#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench: what short-lived processes cost and how much of them is seen, beside the peers.

Presence is samples in a known function against the CPU time its processes spent there;
latency is from just before posix_spawn() to the first sample with a stack, most of which is
the interpreter's own start; a first-seen code object costs what samples of ever new functions
cost more than samples of one.

--beside OTHER-TACHBPF: in the storm, both record the same children. One after the other they cannot be compared: the
machine's other processes, which -a records, too, differ by more than the builds do.
"""
import argparse
import collections
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

import beside  # noqa: E402
import interpreters  # noqa: E402
from bench import perf_programs, pyspy  # noqa: E402
from bpf_objects import bpf_stats  # noqa: E402
from paths import TARGETS  # noqa: E402
from processes import cpu_s, family_cpu_s, kill, online_cpus  # noqa: E402
from profiles import Oracle  # noqa: E402
from recording import Recording, succeeded, tachbpf  # noqa: E402
from summary import owners  # noqa: E402

RATE, FINE_RATE = 999, 9999
COUNT, PARALLEL = 200, 8
# What a build takes in a storm; us, but for the rate and the percentages
Storm = collections.namedtuple("Storm", "rate present nameless user on_fork on_exit in_bpf lost")
SPAWN = """
import os, sys, time
program = "import time\\nend = time.process_time() + .02\\nwhile time.process_time() < end: pass\\n"
for i in range(int(sys.argv[2])):
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    pid = os.posix_spawn(sys.executable, [sys.executable, "-S", "-E", "-c", program], os.environ)
    os.waitpid(pid, 0)
    with open(sys.argv[1], "a") as out:
        out.write("%d %d\\n" % (pid, begin))
"""


def truth(path):
    return {int(line.split()[0]): int(line.split()[1]) for line in open(path)}


def brood(interpreter, scratch, directory, cpu_ms, count=COUNT, how="spawn", prefix=()):
    directory.mkdir()
    return interpreter.command(*prefix, scratch / "brood.py", directory / "truth", count, PARALLEL,
                               cpu_ms, how)


def say(name, present, directory, processes):
    """processes: how many of them were seen; None: it does not tell them apart."""
    burnt = truth(directory / "truth")
    owed = sum(burnt.values()) / 1e9 * RATE
    seen = "" if processes is None else f", {processes} of {len(burnt)} processes"
    print(f"  {name:34}{100 * present / owed:8.1f} %   {present} of {owed:.0f} samples{seen}",
          flush=True)


def presence_ours(interpreter, scratch, oracle, cpu_ms, how):
    directory = scratch / f"ours-{interpreter.name}-{cpu_ms}-{how}"
    argv = brood(interpreter, scratch, directory, cpu_ms, how=how)
    summary = succeeded(tachbpf("-r", RATE, "-o", directory / "p", "--json", "--", *argv)).summary
    seen, frames, nameless = collections.Counter(), 0, 0
    for pid, sample in owners(summary, oracle):
        frames += len(sample.frames)
        nameless += sum(f.func.startswith("<un") for f in sample.frames)
        seen[pid] += any(f.func == "burn_known" for f in sample.frames)
    say(f"tachbpf, {interpreter.name} {how}", sum(seen.values()), directory, len(+seen))
    print(f"  {'':34}{100 * nameless / frames:8.3f} %   of frames have no name; "
          f"{summary['consumer_cpu_s'] * 1e3 / COUNT:.2f} ms CPU and "
          f"{summary['code_records'] / COUNT:.1f} code objects a process, "
          f"{summary['code_cache']['evictions']} evictions", flush=True)


def presence_tachyon(interpreter, scratch, oracle, cpu_ms):
    """CPython 3.15's own: a file for each process that it caught."""
    directory = scratch / f"tachyon-{cpu_ms}"
    argv = brood(interpreter, scratch, directory, cpu_ms, prefix=(
        "-m", "profiling.sampling", "run", "--subprocesses", "--mode", "cpu", "--binary", "-r",
        RATE, "-o", directory / "p.bin"))
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, cwd=directory)
    found = [p for p in sorted(directory.rglob("*")) if p.suffix in (".bin", ".tach")]
    if done.returncode or not found:
        print(f"  CPython 3.15 profiling.sampling: did not run: "
              f"{(done.stderr or done.stdout).strip().splitlines()[-1:]}")
        return
    # it goes on sampling what has ended: no process has more than it burnt
    most = int(max(truth(directory / "truth").values()) / 1e9 * RATE) + 1
    counts = [min(most, sum(any(f.func == "burn_known" for f in s.frames) for s in profile.samples))
              for profile in oracle.load(*(p for p in found if p.stat().st_size > 64))]
    say("CPython 3.15 --subprocesses", sum(counts), directory, sum(map(bool, counts)))


def presence_pyspy(interpreter, scratch, spy, cpu_ms):
    directory = scratch / f"spy-{cpu_ms}"
    argv = brood(interpreter, scratch, directory, cpu_ms)
    done = subprocess.run([spy, "record", "--subprocesses", "-r", str(RATE), "-f", "raw", "-o",
                           str(directory / "raw"), "--", *argv],
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        print(f"  py-spy: did not run: {done.stderr.strip().splitlines()[-1:]}")
        return
    present = sum(int(line.rsplit(" ", 1)[1]) for line in open(directory / "raw")
                  if "burn_known" in line)
    say(f"py-spy --subprocesses, {interpreter.name}", present, directory, None)


def bench_presence(by_name, scratch, oracle):
    spy = pyspy(scratch)
    for cpu_ms in (30, 10):
        print(f"\npresence: {COUNT} processes of {cpu_ms} ms, {PARALLEL} at a time, {RATE} Hz "
              f"(aim: {99 if cpu_ms == 30 else 95} %)")
        for name in ("system-3.11", "pyenv-3.12.1", "sid-3.15"):
            if name in by_name:
                presence_ours(by_name[name], scratch, oracle, cpu_ms, "spawn")
        presence_ours(by_name["sid-3.15"], scratch, oracle, cpu_ms, "fork")
        presence_tachyon(by_name["sid-3.15"], scratch, oracle, cpu_ms)
        if spy and "system-3.11" in by_name:
            presence_pyspy(by_name["system-3.11"], scratch, spy, cpu_ms)
        else:
            print("  py-spy: missing (pip could not install it)")


def bench_latency(by_name, scratch, oracle, count=100):
    print(f"\nadmission: posix_spawn() to the first sample with a stack, ms, at {FINE_RATE} Hz; "
          "the interpreter's own start is most of it")
    print(f"  {'':16}{'p50':>8}{'p99':>8}   samples before the process was known")
    (scratch / "spawn.py").write_text(SPAWN)
    for name in ("system-3.11", "pyenv-3.12.1", "sid-3.15"):
        if name not in by_name:
            continue
        directory = scratch / f"latency-{name}"
        directory.mkdir()
        argv = by_name[name].command("-S", "-E", scratch / "spawn.py", directory / "truth", count)
        summary = succeeded(tachbpf("-r", FINE_RATE, "-o", directory / "p", "--json", "--",
                                    *argv)).summary
        begun, first = truth(directory / "truth"), {}
        for pid, sample in owners(summary, oracle):
            # the child of a fork or vfork shows its parent's stack until it executes
            own = any(f.func == "<module>" and f.file == "<string>" or "importlib" in f.file
                      for f in sample.frames) and not any(f.file.endswith("spawn.py")
                                                          for f in sample.frames)
            if pid in begun and own:
                first[pid] = min(first.get(pid, sample.time_us), sample.time_us)
        late = sorted((first[pid] - begun[pid] / 1e3) / 1e3 for pid in first)
        print(f"  {name:16}{statistics.median(late):8.2f}{late[int(0.99 * (len(late) - 1))]:8.2f}"
              f"   {summary['lost']['late_discovery']}, {len(late)} of {count} processes seen",
              flush=True)


def ns_of(programs, *named):
    """(runs, ns) of programs by these names; without names, of all."""
    chosen = [(runs, ns) for name, runs, ns in programs.values() if not named or name in named]
    return [sum(column) for column in zip(*chosen)]


def presence(summary, oracle, burnt):
    """% of the samples that the children's CPU time owes, and % of the frames that have no name."""
    owed, present, frames, nameless = sum(burnt.values()) / 1e9 * RATE, 0, 0, 0
    for owner, sample in owners(summary, oracle):
        if owner in burnt:
            frames += len(sample.frames)
            nameless += sum(f.func.startswith("<un") for f in sample.frames)
            present += any(f.func == "burn_known" for f in sample.frames)
    return 100 * present / owed, 100 * nameless / max(1, frames)


def storm(interpreter, scratch, oracle, tools, turn, children):
    """name -> Storm of each tool, which all record the same children: so many, 1,000 a second, which live for 20 ms."""
    directory = Path(tempfile.mkdtemp(dir=scratch))
    argv = interpreter.command("-S", "-E", scratch / "forking.py", directory / "truth", children, 1000, 20, 300)
    with bpf_stats(), beside.recorded(tools, turn, ["-a", "-r", RATE], directory) as recordings:
        time.sleep(0.5)
        pids = {name: r.process.pid for name, r in recordings.items()}
        before = {name: (beside.programs_of(pid), family_cpu_s(pid)) for name, pid in pids.items()}
        said = subprocess.run(["nice", "-n", "-15", *argv], check=True, timeout=600, capture_output=True,
                              text=True).stdout
        time.sleep(0.2)                 # a record waits for 100 ms at most
        after = {name: (beside.programs_of(pid), family_cpu_s(pid)) for name, pid in pids.items()}
        summaries = {name: succeeded(r.stop()).summary for name, r in recordings.items()}
    burnt = truth(directory / "truth")
    return {name: Storm(children / float(said.split()[1]), *presence(summaries[name], oracle, burnt),
                        1e6 * (after[name][1] - before[name][1]) / children,
                        *(grown(after[name][0], before[name][0], program) for program in ("on_fork", "on_exit")),
                        (ns_of(after[name][0])[1] - ns_of(before[name][0])[1]) / children / 1e3,
                        summaries[name]["lost"]["lifecycle_events"]) for name in tools}


def grown(after, before, name):
    """us a run of that program, between two looks."""
    runs, ns = (now - then for now, then in zip(ns_of(after, name), ns_of(before, name)))
    return ns / max(1, runs) / 1e3


def say_storm(name, rounds, other):
    """rounds: a Storm each; other: those of the build that they are compared with, or None."""
    middle = [statistics.median(column) for column in zip(*rounds)]
    print("  %-24s%9.0f%8.1f %%%8.2f %%%9.1f%9.2f%9.2f%9.2f   %d lifecycle records lost" % (name, *middle))
    if other:
        ratios = [beside.ratio(*(list(column) for column in pair)) for pair in zip(zip(*rounds), zip(*other))]
        print("".join(f"    {field}: {ratios[Storm._fields.index(field)]}" for field in Storm._fields[3:7]), flush=True)


def bench_storm(by_name, scratch, oracle, args):
    tools, children = beside.names(args), int(5000 * args.seconds)
    print(f"\na storm: {children} children by fork, 1,000 a second, each lives for 20 ms, -a at {RATE} Hz, "
          f"{args.rounds} rounds (aims: 99 % of the samples, 250 us a child); us a child in user space, a run of "
          "on_fork, of on_exit, and of all programs a child: medians")
    print(f"  {'':24}{'a second':>9}{'present':>10}{'nameless':>10}"
          + "".join(f"{title:>9}" for title in ("user", "on_fork", "on_exit", "in BPF")))
    for name in ("system-3.11", "pyenv-3.12.1", "sid-3.15"):
        if name in by_name:
            rounds = [storm(by_name[name], scratch, oracle, tools, turn, children) for turn in range(args.rounds)]
            for which in tools:
                say_storm(f"{name} {which}", [r[which] for r in rounds],
                          [r["beside"] for r in rounds] if args.beside and which == "now" else None)


def code_cost(interpreter, scratch, kind, seconds):
    """(kernel ns a sample, user us a sample, code records a sample)."""
    cpu = online_cpus() - 1
    process = subprocess.Popen(["taskset", "-c", str(cpu), *interpreter.command(
        scratch / "fresh.py", kind)], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        known = perf_programs()
        with bpf_stats(), Recording(["-p", process.pid, "-C", cpu, "-r", 2000, "-o",
                                     scratch / "code.tach", "--force", "--json"]) as recording:
            recording.wait_recording(cpus=1)
            before, user = perf_programs(), cpu_s(recording.process.pid)
            time.sleep(seconds)         # the interval that is measured
            after, user = perf_programs(), cpu_s(recording.process.pid) - user
            summary = succeeded(recording.stop()).summary
    finally:
        kill(process)
    ours = [i for i in after if i in before and i not in known]
    ns = sum(after[i][1] - before[i][1] for i in ours)
    ticks = max(after[i][0] - before[i][0] for i in ours)
    samples = ticks * summary["samples"] / summary["ticks"]["delivered"]
    (scratch / "code.tach").unlink()
    return ns / samples, 1e6 * user / samples, summary["code_records"] / summary["samples"]


def bench_code(by_name, scratch, seconds):
    print("\na first-seen code object: what it adds to a sample")
    for name in ("system-3.11", "pyenv-3.12.1", "sid-3.15"):
        if name not in by_name:
            continue
        same, fresh = (code_cost(by_name[name], scratch, kind, seconds)
                       for kind in ("same", "fresh"))
        records = fresh[2] - same[2]
        print(f"  {name:16}{(fresh[0] - same[0]) / records:8.0f} ns in the kernel,"
              f"{(fresh[1] - same[1]) / records:7.1f} us in user space   "
              f"({records:.2f} a sample)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="per figure of code objects")
    parser.add_argument("--only", choices=("presence", "latency", "code", "storm"))
    parser.add_argument("--rounds", type=int, default=2, help="of the storm")
    beside.add_option(parser)           # for the storm
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("bench: needs root: sudo make bench")
    by_name = {i.name: i for i in interpreters.discover()}
    if "sid-3.15" not in by_name:
        raise SystemExit("bench: needs sid-3.15, which reads the profiles: make interpreters")
    scratch = Path(tempfile.mkdtemp(prefix="tachbpf-bench-", dir="/tmp"))
    try:
        scratch.chmod(0o755)
        shutil.copy(HERE / "fresh.py", scratch)
        shutil.copy(HERE / "forking.py", scratch)
        shutil.copy(TARGETS / "brood.py", scratch)
        shutil.copy(HERE.parent / "e2e" / "lib" / "oracle.py", scratch)
        oracle = Oracle(by_name["sid-3.15"], scratch)
        print(f"tachbpf bench of short lives on {online_cpus()} CPUs, kernel {os.uname().release}")
        if args.only in (None, "presence"):
            bench_presence(by_name, scratch, oracle)
        if args.only in (None, "latency"):
            bench_latency(by_name, scratch, oracle)
        if args.only in (None, "storm"):
            bench_storm(by_name, scratch, oracle, args)
        if args.only in (None, "code"):
            bench_code(by_name, scratch, args.seconds)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
