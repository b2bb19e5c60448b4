#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs test programs side by side: programs.py TIER [-v] COMMAND...

A command is a line of shell: a program, or the program of a room and the name of a file of its tests.
Tests are counted as cmocka prints them; a program without cmocka is one test. In the environment:
JOBS (how many at a time), TACHBPF_FAILED (where logs of failed ones are kept), TACHBPF_TALLY.
"""
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "e2e" / "lib"))

import tally  # noqa: E402

TIMEOUT = 3600          # of what hangs; a busy machine may take twenty times as long as a quiet one
RAN = re.compile(r"^\[=+\] (?:[\w.]+: )?(\d+) test\(s\) run", re.M)
FAILED = re.compile(r"^\[  FAILED  \] (?:[\w.]+: )?(?!\d+ test)(\w+)", re.M)
SKIPPED = re.compile(r"^\[  SKIPPED \] (?:[\w.]+: )?(?!\d+ test)(\w+)", re.M)
SLEPT = re.compile(r"^(\w+): slept ([\d.]+) s$", re.M)
WHY = re.compile(r"^SKIP.*|^.*SKIPPED(?! \] \d+ test).*", re.M)


def name_of(command):
    """What a command is called, and its log: the file of tests if the program has several."""
    program, *words = command.split()
    several = words and Path(program).name in ("tests", "targets", "elf_targets")
    return Path(program).with_name(words[0] if several else Path(program).name)


class Result:
    def __init__(self, command, status, log, seconds):
        self.program, self.log, self.seconds = name_of(command), log, seconds
        self.text = log.read_text(errors="replace")
        self.skipped = len(set(SKIPPED.findall(self.text)))
        failed = sorted(set(FAILED.findall(self.text)))
        ran = sum(map(int, RAN.findall(self.text)))
        if status and not failed:
            failed = [f"(ended with status {status})"]
        elif not ran:
            ran = 1
        self.failed = [f"{self.program.name}: {test}" for test in failed]
        self.passed = max(0, ran - len(failed) - self.skipped)


def run(command):
    program = name_of(command)
    log = program.with_name(program.name + ".log")
    if program.suffix == ".py":
        command = f"{sys.executable} -B {HERE / 'count_sleeps.py'} {command}"
    start = time.monotonic()
    with open(log, "w") as f:
        try:
            status = subprocess.run(["sh", "-c", "exec " + command], stdout=f, stderr=f,
                                    stdin=subprocess.DEVNULL, timeout=TIMEOUT).returncode
        except subprocess.TimeoutExpired:
            status = f"none after {TIMEOUT} s"
    return Result(command, status, log, time.monotonic() - start)


def keep(tier, result):
    """The log, where evidence is kept."""
    place = Path(os.environ.get("TACHBPF_FAILED", "build/failed")) / f"{tier}-{result.program.name}"
    place.mkdir(parents=True, exist_ok=True)
    shutil.copy(result.log, place)
    return str(place)


def tell(tier, result, verbose):
    """What is to be read of one program; its failures with their evidence."""
    for line in sorted(set(WHY.findall(result.text))):
        print(f"{result.program.name}: {line}")
    if not result.failed:
        if verbose:
            print(f"{result.program.name}, {result.seconds:.1f} s: "
                  + (result.text.strip().splitlines() or [""])[-1])
        return []
    print(result.text, end="")
    place = keep(tier, result)
    print(f"FAILED: {', '.join(result.failed)}\nevidence: {place}", flush=True)
    return [(test, place) for test in result.failed]


def main():
    tier, *commands = sys.argv[1:]
    verbose = "-v" in commands
    commands = [c for c in commands if c != "-v"]
    if not commands:
        raise SystemExit(f"{tier}: no programs")
    jobs = int(os.environ.get("JOBS") or len(os.sched_getaffinity(0)))
    failures, passed, skipped = [], 0, 0
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(run, commands):
            failures += tell(tier, result, verbose)
            passed, skipped = passed + result.passed, skipped + result.skipped
            for test, seconds in SLEPT.findall(result.text):
                tally.slept(test, float(seconds))
    tally.add(tier, failures, passed=passed, failed=len(failures), skipped=skipped)
    print(f"{tier}: {len(commands)} programs: {passed} tests passed, {len(failures)} failed, "
          f"{skipped} skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
