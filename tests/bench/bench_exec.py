#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-exec: what an exec costs while everything is recorded (-a, 99 Hz), in a storm of them.

ns of the programs that follow execs, forks, exits and new names, by the kernel's own count (bpf_stats), and
us of CPU of tachbpf and its workers, all for each exec. A storm is started by a shell, which is no Python, or
by a Python, whose forks are recorded until they execute something. And on_fork() and on_exit() cold: a Python
reads 64 MiB and forks, after a pause of 50 ms, or of 1.5 s, when on a quiet machine user space has begun to look
less often. --beside OTHER-TACHBPF: both record the same storms, and the cold forks alternately. What runs first at an
exec finds less in the caches, so the other one begins to record first in every second round.
"""
import argparse
import contextlib
import os
import re
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
from bpf_objects import bpf_stats  # noqa: E402
from processes import family_cpu_s, online_cpus  # noqa: E402
from recording import succeeded  # noqa: E402

PROGRAMS = ("on_exec", "on_fork", "on_exit", "on_rename")
SPAWNERS = ("shell", "python")
EVERYTHING = ("-a", "-r", 99)
AIMS_US = {"true": 5, "python": 10}
FROM_SHELL = 'i=0; while [ $i -lt $0 ]; do i=$((i + 1)); "$@"; done'
FROM_PYTHON = """
import os, sys
for i in range(int(sys.argv[1])):
    os.waitpid(os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ), 0)
"""

COLD = ("on_fork", "on_exit")
COLD_PAUSES = {0.05: 40, 1.5: 8}        # s between two forks -> how many
COLD_AIM_US = 10
COLD_PYTHON = """
import os, sys
memory = bytearray(64 << 20)
print("ready", flush=True)
for line in sys.stdin:
    for _ in range(2):
        memory.count(1)
    print("cold", flush=True)
    sys.stdin.readline()
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    print("done", flush=True)
"""


def storm(spawner, program, count):
    if spawner == "shell":
        argv = ["/bin/sh", "-c", FROM_SHELL, str(count), *program]
    else:
        argv = ["/usr/bin/python3", "-S", "-E", "-c", FROM_PYTHON, str(count), *program]
    subprocess.run(argv, check=True, timeout=600, env={})


def measure(tools, turn, spawner, program, count, scratch):
    """name -> ({program: us a run}, user us an exec, ticks in processes that were gone too early) of each tool."""
    with bpf_stats(), beside.recorded(tools, turn, EVERYTHING, scratch) as recordings:
        storm(spawner, program, 5)      # now the executables are known
        time.sleep(0.5)
        pids = {name: r.process.pid for name, r in recordings.items()}
        before = {name: (beside.programs_of(pid), family_cpu_s(pid)) for name, pid in pids.items()}
        storm(spawner, program, count)
        time.sleep(0.2)                 # a record waits for 100 ms at most
        after = {name: (beside.programs_of(pid), family_cpu_s(pid)) for name, pid in pids.items()}
        gone = {name: succeeded(r.stop()).summary["unidentified"] for name, r in recordings.items()}
    return {name: (us_a_run(before[name][0], after[name][0]), 1e6 * (after[name][1] - before[name][1]) / count,
                   gone[name]) for name in tools}


def us_a_run(before, after):
    return {name: (ns - before[i][2]) / max(1, runs - before[i][1]) / 1e3
            for i, (name, runs, ns) in after.items() if name in PROGRAMS}


def say(name, costs, other):
    print(f"  {name:34}{min(costs):9.2f}{statistics.median(costs):9.2f}"
          f"{'' if other is None else f'   {beside.ratio(costs, other)}'}", flush=True)


def say_storms(rows, name, other):
    """rows: those of each round. other: the rows that they are compared with, or None."""
    for part in PROGRAMS:
        say(f"{name} {part}", *([us[part] for us, _, _ in r] if r else None for r in (rows, other)))
    say(f"{name} user space", *([user for _, user, _ in r] if r else None for r in (rows, other)))
    print(f"  {name}: {statistics.median(gone for _, _, gone in rows):.0f} ticks in processes that were gone too early")


def bench_storms(programs, tools, args, scratch):
    for program, argv in programs.items():
        for spawner in args.spawners:
            count = args.count if program == "true" else args.count // 5
            rounds = [measure(tools, turn, spawner, list(map(str, argv)), count, scratch)
                      for turn in range(args.rounds)]
            print(f"\n{program}, started by a {spawner}: {count} execs a round "
                  f"(aim: on_exec <= {AIMS_US[program]} us)")
            for name in tools:
                say_storms([r[name] for r in rounds], name,
                           [r["beside"] for r in rounds] if args.beside and name == "now" else None)


def counters_of(pid):
    """name of a program -> its file in fdinfo, which is quicker than bpftool."""
    names = {i: name for i, (name, _, _) in beside.programs_of(pid).items() if name in COLD}
    found = {}
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            text = info.read_text()
            for i in re.findall(r"^prog_id:\s*(\d+)$", text, re.M):
                if int(i) in names and "run_cnt:" in text:      # its links name it, too
                    found[names[int(i)]] = info
    return found


def counted(info):
    """(runs, ns)"""
    text = info.read_text()
    return [int(re.search(rf"^{field}:\s*(\d+)$", text, re.M)[1]) for field in ("run_cnt", "run_time_ns")]


def answer(target, expected):
    target.stdin.write("\n")
    target.stdin.flush()
    assert target.stdout.readline() == f"{expected}\n"


def cold_runs(target, counters, pause_s, count):
    """name -> us of each run that had the time between two readings for itself."""
    found = {name: [] for name in counters}
    for _ in range(count):
        time.sleep(pause_s)
        answer(target, "cold")
        before = {name: counted(info) for name, info in counters.items()}
        answer(target, "done")
        for name, info in counters.items():
            runs, ns = counted(info)
            if runs == before[name][0] + 1:
                found[name].append((ns - before[name][1]) / 1e3)
    return found


def measure_cold(tool, scratch):
    """(pause, name) -> us of each run."""
    found = {}
    with subprocess.Popen(["/usr/bin/python3", "-S", "-E", "-c", COLD_PYTHON], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as target:
        assert target.stdout.readline() == "ready\n"
        with bpf_stats(), beside.recorded({"cold": tool}, 0, EVERYTHING, scratch) as recordings:
            time.sleep(1.5)             # the first names have been read
            counters = counters_of(recordings["cold"].process.pid)
            for pause_s, count in COLD_PAUSES.items():
                for name, us in cold_runs(target, counters, pause_s, count).items():
                    found[pause_s, name] = us
            succeeded(recordings["cold"].stop())
        target.stdin.close()
    return found


def bench_cold(tools, rounds, scratch):
    print(f"\ncold: a Python reads 64 MiB and forks, us a run (aim: on_fork <= {COLD_AIM_US} us)\n"
          f"  {'':34}{'least':>9}{'median':>9}{'mean':>9}")
    found = {name: [] for name in tools}
    for turn in range(rounds):
        for name in beside.order(tools, turn):
            found[name].append(measure_cold(tools[name], scratch))
    for pause_s, part in sorted(found["now"][0]):
        for name in tools:
            us = [one for row in found[name] for one in row[pause_s, part]]
            if us:
                print(f"  {f'{name} {part}, each {pause_s} s':34}{min(us):9.2f}{statistics.median(us):9.2f}"
                      f"{statistics.mean(us):9.2f}   {len(us)} runs", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    beside.add_option(parser)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("storms", "cold"))
    parser.add_argument("--program", choices=tuple(AIMS_US), help="of the storms")
    parser.add_argument("--from", dest="spawners", choices=SPAWNERS, nargs="+", default=SPAWNERS,
                        help="who starts the storms")
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("bench: needs root: sudo make bench-exec")
    by_name = {i.name: i for i in interpreters.discover()}
    programs = {"true": ["/bin/true"]}
    if "system-3.11" in by_name:
        programs["python"] = by_name["system-3.11"].command("-S", "-E", "-c", "pass")
    programs = {name: argv for name, argv in programs.items() if args.program in (None, name)}
    tools = beside.names(args)
    print(f"tachbpf bench of execs on {online_cpus()} CPUs, kernel {os.uname().release}: us an exec with -a, "
          "least and median of rounds, and the ratio to the other build")
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-", dir="/tmp") as scratch:
        if args.only != "storms":
            bench_cold(tools, args.rounds, Path(scratch))
        if args.only != "cold":
            bench_storms(programs, tools, args, Path(scratch))


if __name__ == "__main__":
    main()
