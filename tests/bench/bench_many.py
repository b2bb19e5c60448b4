#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-many: what tachbpf takes on a host with thousands of idle Pythons and one that is busy.

The idle ones are forks of one Python that wait for a signal; --execed of them are executed one by one. Beside another
tachbpf (--beside) in the same run. Memory is of all processes of tachbpf: PSS counts each page once, RSS as often as
it is mapped; both have the ring buffer (4 MiB, mapped twice). CPU time is the scheduler's, of all of them, without
what BPF programs take. With --uid, all Pythons are of one user, who alone is recorded once started: what else runs on
the machine does not count then.
"""
import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))
sys.path.insert(0, str(HERE))

from processes import family, family_cpu_s, kill  # noqa: E402
from starting import recording  # noqa: E402

TACHBPF = os.environ["TACHBPF"]
AIMS = "aims for 2,000: start 0.25 s, 20 MiB and 0.05 % of a CPU once started; -m wall 32 MiB, 0.6 s of CPU in 10 s"
UID = 60123
# Nice: they must take no CPU from what is measured.
FORKS = """
import os, signal, sys
os.setuid(int(sys.argv[2]))
os.nice(39)
for _ in range(int(sys.argv[1])):
    if not os.fork():
        signal.pause()
print("ready", flush=True)
while True: pass
"""
EXECED = "import os, signal, sys; os.setuid(int(sys.argv[1])); print('ready', flush=True); signal.pause()"


@contextlib.contextmanager
def pythons(idle, execed, uid):
    started = [subprocess.Popen([sys.executable, "-S", "-c", EXECED, str(uid)], stdout=subprocess.PIPE,
                                start_new_session=True) for _ in range(execed)]
    started.append(subprocess.Popen([sys.executable, "-S", "-c", FORKS, str(idle - execed), str(uid)],
                                    stdout=subprocess.PIPE, start_new_session=True))
    try:
        for process in started:
            process.stdout.readline()
        yield
    finally:
        for process in started:
            kill(process)


def memory_mib(pid):
    """(PSS, RSS) of a process and all below it."""
    total = [0, 0]
    for one in family(pid):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
            for i, name in enumerate(("Pss", "Rss")):
                total[i] += int(re.search(rf"^{name}:\s+(\d+)", text, re.M).group(1)) / 1024
    return total


def measure(binary, argv, scratch, seconds):
    """What one recording takes: seconds to the first tick, CPU until then, then a second, in all; MiB."""
    with recording(binary, argv, scratch) as (process, took, at_start):
        time.sleep(seconds / 2)         # what was left of the start is over; samples have named every function
        half = family_cpu_s(process.pid)
        time.sleep(seconds / 2)
        end = family_cpu_s(process.pid)
        pss, rss = memory_mib(process.pid)
        process.send_signal(signal.SIGINT)
    return {"start s": took, "CPU s by then": at_start, "% of a CPU, second half": 200 * (end - half) / seconds,
            f"CPU s in {seconds:g} s": end, "PSS MiB": pss, "RSS MiB": rss}


def say(name, found):
    print(f"  {name:28}" + "".join(f"{found[key]:>26.3f}" for key in found), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", help="another tachbpf, to be compared with")
    parser.add_argument("--pythons", default="2000", help="how many are idle: numbers with commas between them")
    parser.add_argument("--execed", type=int, default=0, help="so many of them are executed, not forked")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--uid", action="store_true", help="record their user alone")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))       # what was started ends, too
    binaries = {"before": args.beside, "now": TACHBPF} if args.beside else {"now": TACHBPF}
    modes = {"-a": ["-a", "-r", "99"], "-a -m wall": ["-a", "-r", "99", "-m", "wall"]}
    print(AIMS)
    for idle in map(int, args.pythons.split(",")):
        with pythons(idle, min(args.execed, idle), UID), tempfile.TemporaryDirectory() as scratch:
            titles = None
            for _ in range(args.rounds):
                for mode, argv in modes.items():
                    for name, binary in binaries.items():
                        found = measure(binary, argv + (["--uid", str(UID)] if args.uid else []), Path(scratch),
                                        args.seconds)
                        if titles is None:
                            titles = list(found)
                            print(f"{idle} idle Pythons" + (f", {args.execed} of them executed" if args.execed else "")
                                  + "\n" + " " * 30 + "".join(f"{title:>26}" for title in titles))
                        say(f"{mode}, {name}", found)


main()
