#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-exec: what an exec costs while everything is recorded (-a, 99 Hz), in a storm of them.

ns of the programs that follow execs, forks, exits and new names, by the kernel's own count (bpf_stats), and
us of CPU of tachbpf and its workers, all for each exec. A storm is started by a shell, which is no Python, or
by a Python, whose forks are recorded until they execute something. And on_fork() and on_exit() cold: a Python
reads 64 MiB and forks, after a pause of 50 ms, or of 1.5 s, when on a quiet machine user space has begun to look
less often. BEFORE: another tachbpf, measured in turn.
"""
import argparse
import contextlib
import json
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
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import interpreters  # noqa: E402
from bpf_objects import bpf_stats  # noqa: E402
from paths import binary  # noqa: E402
from processes import cpu_s, family, online_cpus  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

PROGRAMS = ("on_exec", "on_fork", "on_exit", "on_rename")
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


def programs_of(pid):
    """id -> (name, runs, ns) of the programs that this process has loaded."""
    ids = set()
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            ids |= {int(i) for i in re.findall(r"^prog_id:\s*(\d+)$", info.read_text(), re.M)}
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, timeout=60,
                           check=True).stdout
    return {p["id"]: (p["name"], p.get("run_cnt", 0), p.get("run_time_ns", 0))
            for p in json.loads(shown) if p["id"] in ids and p.get("name") in PROGRAMS}


def cpu_of(pid):
    """CPU seconds of the tool and its workers."""
    total = 0
    for process in family(pid):
        with contextlib.suppress(OSError):
            total += cpu_s(process)
    return total


def storm(spawner, program, count):
    if spawner == "shell":
        argv = ["/bin/sh", "-c", FROM_SHELL, str(count), *program]
    else:
        argv = ["/usr/bin/python3", "-S", "-E", "-c", FROM_PYTHON, str(count), *program]
    subprocess.run(argv, check=True, timeout=600, env={})


def measure(tool, spawner, program, count, scratch):
    """({program: ns a run}, user us an exec)."""
    os.environ["TACHBPF"] = str(tool)
    with bpf_stats(), Recording(["-a", "-r", 99, "-o", scratch / "p", "--force", "--json"],
                                prefix=["nice", "-n", "-15"]) as recording:
        recording.wait_recording()
        storm(spawner, program, 5)      # now the executables are known
        time.sleep(0.5)
        pid = recording.process.pid
        before, user = programs_of(pid), cpu_of(pid)
        storm(spawner, program, count)
        time.sleep(0.2)                 # a record waits for 100 ms at most
        after, user = programs_of(pid), cpu_of(pid) - user
        summary = succeeded(recording.stop()).summary
    ns = {name: (after[i][2] - before[i][2]) / max(1, runs - before[i][1])
          for i, (name, runs, _) in after.items()}
    return ns, 1e6 * user / count, summary["unidentified"]


def say(name, rows):
    for part in PROGRAMS:
        costs = [ns[part] / 1e3 for ns, _, _ in rows]
        print(f"  {name + ' ' + part:34}{min(costs):9.2f}{statistics.median(costs):9.2f}")
    user = [us for _, us, _ in rows]
    print(f"  {name + ' user space':34}{min(user):9.2f}{statistics.median(user):9.2f}   "
          f"{statistics.median(gone for _, _, gone in rows):.0f} ticks in processes that were gone too early",
          flush=True)


def bench_storms(programs, tools, args, scratch):
    for program, argv in programs.items():
        for spawner in ("shell", "python"):
            count = args.count if program == "true" else args.count // 5
            rows = {name: [] for name in tools}
            for _ in range(args.rounds):
                for name, tool in tools.items():
                    rows[name].append(measure(tool, spawner, list(map(str, argv)), count, scratch))
            print(f"\n{program}, started by a {spawner}: {count} execs a round "
                  f"(aim: on_exec <= {AIMS_US[program]} us)")
            for name in tools:
                say(name, rows[name])


def counters_of(pid):
    """name of a program -> its file in fdinfo, which is quicker than bpftool."""
    names = {i: name for i, (name, _, _) in programs_of(pid).items() if name in COLD}
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
    os.environ["TACHBPF"] = str(tool)
    found = {}
    with subprocess.Popen(["/usr/bin/python3", "-S", "-E", "-c", COLD_PYTHON], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as target:
        assert target.stdout.readline() == "ready\n"
        with bpf_stats(), Recording(["-a", "-r", 99, "-o", scratch / "p", "--force", "--json"],
                                    prefix=["nice", "-n", "-15"]) as recording:
            recording.wait_recording()
            time.sleep(1.5)             # the first names have been read
            counters = counters_of(recording.process.pid)
            for pause_s, count in COLD_PAUSES.items():
                for name, us in cold_runs(target, counters, pause_s, count).items():
                    found[pause_s, name] = us
            succeeded(recording.stop())
        target.stdin.close()
    return found


def bench_cold(tools, rounds, scratch):
    print(f"\ncold: a Python reads 64 MiB and forks, us a run (aim: on_fork <= {COLD_AIM_US} us)\n"
          f"  {'':34}{'least':>9}{'median':>9}{'mean':>9}")
    found = {name: [] for name in tools}
    for _ in range(rounds):
        for name, tool in tools.items():
            found[name].append(measure_cold(tool, scratch))
    for pause_s, part in sorted(found["after"][0]):
        for name in tools:
            us = [one for row in found[name] for one in row[pause_s, part]]
            if us:
                print(f"  {f'{name} {part}, each {pause_s} s':34}{min(us):9.2f}{statistics.median(us):9.2f}"
                      f"{statistics.mean(us):9.2f}   {len(us)} runs", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("before", nargs="?", type=Path, help="another tachbpf")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("storms", "cold"))
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("bench: needs root: sudo make bench-exec")
    by_name = {i.name: i for i in interpreters.discover()}
    programs = {"true": ["/bin/true"]}
    if "system-3.11" in by_name:
        programs["python"] = by_name["system-3.11"].command("-S", "-E", "-c", "pass")
    tools = {"after": binary(), **({"before": args.before.resolve()} if args.before else {})}
    print(f"tachbpf bench of execs on {online_cpus()} CPUs, kernel {os.uname().release}: us an exec with -a, "
          "least and median of rounds")
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-", dir="/tmp") as scratch:
        if args.only != "storms":
            bench_cold(tools, args.rounds, Path(scratch))
        if args.only != "cold":
            bench_storms(programs, tools, args, Path(scratch))


if __name__ == "__main__":
    main()
