#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make soak: a long recording of everything on a machine under stress, and what must hold after it.

10 kHz on all CPUs, with processes that come and go, bounded fork bombs, and a process
that fills memory. Every tick has ended in exactly one way, what was sent arrived, the
kernel's log has no new warning, the profiler's memory does not grow, its tables are
empty when everybody has gone.
"""
import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import accounting  # noqa: E402
import interpreters  # noqa: E402
from processes import kill, online_cpus  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

RATE = 9999
BOMB = 200                              # processes of one fork bomb
MEMORY_SHARE = 0.25                     # of what is available, at most 2 GiB
BUSY = """
def f(n):
    return f(n - 1) if n else sum(i & 3 for i in range(20000))
while True:
    f(30)
"""
BOMB_CODE = """
import os
pids = []
for _ in range(%d):
    pid = os.fork()
    if not pid:
        x = sum(i * i for i in range(20000))
        os._exit(0)
    pids.append(pid)
for pid in pids:
    os.waitpid(pid, 0)
""" % BOMB
HOG = """
import sys, time
size = int(sys.argv[1])
while True:
    hog = bytearray(size)
    hog[::4096] = bytes(len(hog[::4096]))
    time.sleep(0.5)
    del hog
"""


def warnings_of_kernel():
    """Lines of dmesg that no healthy kernel prints."""
    text = subprocess.run(["dmesg"], capture_output=True, text=True, timeout=60).stdout
    return [line for line in text.splitlines()
            if re.search(r"WARNING:|BUG:|Oops|soft lockup|hard LOCKUP|rcu.*stall|hung task", line)]


def rss_kib(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1))


def available_bytes():
    text = Path("/proc/meminfo").read_text()
    return 1024 * int(re.search(r"MemAvailable:\s+(\d+)", text).group(1))


def entries(pid, name):
    """How many entries the profiler's map of this name has, by its fd: None if it cannot be told."""
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        found = re.search(r"^map_id:\s+(\d+)$", info.read_text(), re.M)
        if not found:
            continue
        shown = subprocess.run(["bpftool", "-j", "map", "show", "id", found.group(1)],
                               capture_output=True, text=True, timeout=60)
        if shown.returncode or json.loads(shown.stdout).get("name") != name:
            continue
        dump = subprocess.run(["bpftool", "-j", "map", "dump", "id", found.group(1)],
                              capture_output=True, text=True, timeout=60)
        return len([e for e in json.loads(dump.stdout)])
    return None


class Stress:
    """Processes that come and go until close()."""

    def __init__(self, interpreter, scratch):
        self.interpreter, self.scratch = interpreter, scratch
        for name, text in (("busy", BUSY), ("bomb", BOMB_CODE), ("hog", HOG)):
            (scratch / f"{name}.py").write_text(text)
        size = int(min(available_bytes() * MEMORY_SHARE, 2 << 30))
        self.lasting = [self.start("busy"), self.start("hog", size)]
        self.bomb, self.brief, self.started = None, [], 0

    def start(self, name, *args):
        return subprocess.Popen(self.interpreter.command(self.scratch / f"{name}.py", *args),
                                stdin=subprocess.DEVNULL, start_new_session=True)

    def step(self):
        """Once every 100 ms or so."""
        if self.bomb is None or self.bomb.poll() is not None:
            self.bomb = self.start("bomb")
            self.started += BOMB
        self.brief.append(self.start("busy"))
        self.started += 1
        while len(self.brief) > 5:
            kill(self.brief.pop(0))

    def close(self):
        for process in [*self.lasting, *self.brief, *([self.bomb] if self.bomb else [])]:
            kill(process)


def soak(interpreter, scratch, seconds):
    """Returns what happened; the caller judges with problems()."""
    warned = warnings_of_kernel()
    samples = []                        # RSS, KiB
    # the files of thousands of processes are what is left of them: not the point here
    output = scratch / "soak"
    with contextlib.closing(Stress(interpreter, scratch)) as stress, \
            Recording(["-a", "-r", RATE, "-o", output, "--json", "-q"]) as recording:
        recording.wait_recording()
        end = time.monotonic() + seconds
        warm = time.monotonic() + seconds / 4
        while time.monotonic() < end:
            stress.step()
            time.sleep(0.1)             # the pace of the churn
            if time.monotonic() > warm:
                samples.append(rss_kib(recording.process.pid))
        stress.close()
        time.sleep(2)                   # exits are told, tables emptied
        left = entries(recording.process.pid, "py_procs")
        alive = sum(1 for p in Path("/proc").iterdir() if p.name.isdigit())
        summary = succeeded(recording.stop()).summary
    return {"summary": summary, "rss": samples, "left": left, "alive": alive,
            "started": stress.started, "warnings": [w for w in warnings_of_kernel()
                                                    if w not in warned]}


def rss_growth(rss, rows_kib):
    """Growth from the first quarter's peak to the last one's, less what a row of each ended
    process takes for the summary."""
    quarter = max(1, len(rss) // 4)
    first, last = max(rss[:quarter]), max(rss[-quarter:])
    return (last - first - rows_kib) / first


def problems(result):
    s, found = result["summary"], []
    try:
        accounting.check(s)
    except AssertionError as error:
        found.append(f"not accounted for: {error}")
    if result["warnings"]:
        found.append("the kernel warned: " + result["warnings"][0])
    # a row of a process with its names takes about a KiB
    if rss_growth(result["rss"], len(s["processes"])) > 0.10:
        found.append(f"RSS grew from {result['rss'][0]} to {result['rss'][-1]} KiB")
    # others start and end processes between the two looks
    if result["left"] is None or result["left"] > 1.1 * result["alive"] + 20:
        found.append(f"{result['left']} entries for {result['alive']} processes that live")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=600)
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("soak: needs root")
    found = interpreters.discover()
    with tempfile.TemporaryDirectory(prefix="tachbpf-soak-", dir="/tmp") as directory:
        Path(directory).chmod(0o755)
        result = soak(found[0], Path(directory), args.seconds)
    s = result["summary"]
    print(f"{s['duration_s']:.0f} s at {RATE} Hz on {online_cpus()} CPUs under {found[0]}: "
          f"{result['started']} processes started, {len(s['processes'])} recorded in {s['files']} "
          f"files\n{s['ticks']['delivered']} ticks ({s['ticks']['missed']} missed), "
          f"{s['samples']} samples, lost: {({k: v for k, v in s['lost'].items() if v}) or 'none'}\n"
          f"RSS {result['rss'][0]} to {result['rss'][-1]} KiB, at most {max(result['rss'])}; "
          f"{result['left']} entries in the process table at the end; "
          f"profiler {s['cpu_percent']:.1f} % of a CPU")
    bad = problems(result)
    for problem in bad:
        print("PROBLEM:", problem)
    print("soak: " + ("failed" if bad else "passed"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
