#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-bursts: what --allocations costs a program that calls its allocator often: every block, and in bursts.

One process does the same rounds, and says how much CPU time one takes: alone, with bursts, alone again, with every
block recorded. What it takes above that of the runs alone is the cost. The aim: bursts cost a tenth.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

from processes import family_cpu_s, kill  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

AIM = 0.1
# Ten calls for blocks of 1,000 bytes, ten frees, and some work: argv[1]. Each line asks for so many seconds.
PROGRAM = """
import sys, time
def round(work):
    for _ in range(10):
        bytes(1000)
    sum(range(work))
print("ready", flush=True)
for line in sys.stdin:
    end, cnt, begin = time.monotonic() + float(line), 0, time.process_time()
    while time.monotonic() < end:
        round(int(sys.argv[1]))
        cnt += 1
    print((time.process_time() - begin) / cnt, flush=True)
"""
BURSTS, EXACT = "sampled:", "recording blocks from now on"


class Program:
    def __init__(self, work):
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(work)], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, start_new_session=True)
        self.line()

    def line(self):
        return self.process.stdout.readline()

    def ask(self, seconds):
        print(seconds, file=self.process.stdin, flush=True)

    def round_s(self, seconds):
        self.ask(seconds)
        return float(self.line())


def recorded(program, out, seconds, *options):
    """CPU seconds of a round while it is recorded, and the recorder's share of a CPU; (None, 0): it is no such program."""
    words = EXACT if options else BURSTS
    argv = ["-m", "mem", "--allocations", *options, "-p", program.process.pid, "-o", out, "--force"]
    program.ask(6)      # its calls are counted meanwhile
    with Recording(argv) as recording:
        for line in recording.process.stderr:
            if words in line or (options and "calls/s" in line):
                break
            if EXACT in line:
                program.line()
                return None, 0
        program.line()
        cpu = family_cpu_s(recording.process.pid)
        took = program.round_s(seconds)
        cpu = (family_cpu_s(recording.process.pid) - cpu) / seconds
        succeeded(recording.stop())
    return took, cpu


def compare(work, out, seconds):
    program = Program(work)
    try:
        alone = [program.round_s(2)]
        bursts, cpu = recorded(program, out / "bursts.mlyze", seconds)
        alone.append(program.round_s(2))
        exact, exact_cpu = recorded(program, out / "exact.mlyze", 3, "--accept-cost")
        alone.append(program.round_s(2))
    finally:
        kill(program.process)
    plain = sorted(alone)[1]
    spread = 100 * (max(alone) - min(alone)) / plain
    print(f"  {20 / plain:9,.0f} calls/s, alone ± {spread / 2:.1f} %: every block {100 * (exact / plain - 1):+9.1f} %; ",
          end="")
    if bursts is None:
        print("no bursts: it costs less than 10 % of a CPU")
        return
    share = (bursts - plain) / (exact - plain)
    print(f"bursts {100 * (bursts / plain - 1):+6.1f} %: {share:.3f} of it (aim: {AIM}); the recorder: "
          f"{100 * cpu:.1f} % of a CPU, {100 * exact_cpu:.1f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    print("CPU time of a round, above that of the same program alone:")
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-bursts-", dir="/tmp") as name:
        for work in (500, 5000, 50000):
            compare(work, Path(name), args.seconds)


main()
