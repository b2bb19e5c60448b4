#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`make check`, `make check-truth`: runs the tiers, adds up what they counted.

A plan is a list of stages, one after the other; a stage has lanes, side by side; a lane has
tiers, one after the other. A tier is a target of the Makefile that says its counts by tally.py.
A tier that fails stops no other, a build that fails stops all. The last line is
`N passed, N failed, N skipped`, and then the systems that could not be had. In the environment:
BUILD, the build's directory.
"""
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "e2e" / "lib"))

import tally  # noqa: E402

CPUS = len(os.sched_getaffinity(0))
DISTRO = "test_demo or test_static or test_two_builds"
BUILD = Path(os.environ.get("BUILD", "build")).absolute()


@dataclass
class Tier:
    name: str
    make: tuple             # target and variables
    counts: bool = True     # has tests; the others build or prepare
    nice: int = 0           # gives way to tiers beside it
    needed: bool = False    # if it fails, nothing else is of use
    process: subprocess.Popen = None
    status: int = 0
    seconds: float = 0
    cpu: float = 0          # seconds of CPU, of all that it started and waited for
    said: dict = field(default_factory=lambda: dict.fromkeys(tally.COUNTS, 0))
    failures: list = field(default_factory=list)
    remarks: list = field(default_factory=list)
    absent: list = field(default_factory=list)

    @property
    def log(self):
        return BUILD / "check" / f"{self.name}.log"

    @property
    def tally(self):
        return BUILD / "check" / f"{self.name}.tally"


def build(*tiers):
    return [[Tier(name, make, counts=False, needed=True)] for name, *make in tiers]


def pytest_tier(name, target, phase):
    return Tier(name, (target, "PREPARED=1", "PHASE=" + phase))


def check_plan():
    """Cheap and certain first; then what waits (pytest) beside what computes, at low priority.

    bpf's hostile programs burn all CPUs: not beside e2e, and gone when the kernels begin. Of the
    distributions' tests there are today's stable Debian, and what takes seconds."""
    computing = [Tier("arm64", ("ARCH=arm64", "all"), counts=False, nice=19)]
    computing = computing if os.uname().machine == "x86_64" else []
    return [
        build(("build", "all")),
        [[Tier("unit", ("check-unit",))], [Tier("interpreters", ("interpreters",), counts=False)]],
        [[pytest_tier("bpf", "check-bpf", "beside"), pytest_tier("e2e", "check-e2e", "beside")],
         [Tier("unit-san", ("SAN=1", "check-unit"), nice=19), Tier("fuzz", ("fuzz",), nice=19),
          *computing, Tier("kernels", ("check-kernels", "PREPARED=1")),
          Tier("distro", ("check-distros", "PREPARED=1", "DISTROS=debian-13",
                           f"PYTESTFLAGS=-k '{DISTRO}'"))]],
        [[pytest_tier("bpf-alone", "check-bpf", "alone")]],
    ]


def truth_plan():
    """On a machine of its own: nothing beside anything."""
    return [
        build(("build", "all"), ("interpreters", "interpreters")),
        [[Tier("truth-bpf", ("truth-bpf", "PREPARED=1")),
          Tier("truth-e2e", ("truth-e2e", "PREPARED=1")),
          Tier("truth-kernels", ("check-kernels", "ALL=1", "PREPARED=1"))]],
    ]


def makeflags():
    """The variables that were given to make; its job server is not ours."""
    words = os.environ.get("MAKEFLAGS", "").split(" ")
    return " ".join(w for w in words if not w.startswith(("-j", "--jobserver")))


def run(tier):
    tier.tally.touch()
    env = dict(os.environ, MAKEFLAGS=makeflags(), TACHBPF_TALLY=str(tier.tally),
               TACHBPF_FAILED=str(BUILD / "failed"), TACHBPF_TIER=tier.name)
    argv = ["make", "--no-print-directory", f"-j{CPUS}", *tier.make]
    start = time.monotonic()
    with open(tier.log, "w") as log:
        process = tier.process = subprocess.Popen(["nice", "-n", str(tier.nice), *argv], env=env, stdout=log,
                                                  stdin=subprocess.DEVNULL,
                                                  stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
    tier.status = process.returncode = os.waitstatus_to_exitcode(status)
    tier.seconds, tier.cpu = time.monotonic() - start, used.ru_utime + used.ru_stime
    for line in tally.read(tier.tally):
        hear(tier, line)
    judge(tier)


def hear(tier, line):
    for kind in tally.COUNTS:
        tier.said[kind] += line.get(kind, 0)
    tier.failures += line.get("failures", ())
    tier.absent += line.get("absent", ())
    if "why" in line:
        tier.remarks.append(f"{line.get('test', tier.name)}: {line['why']}")


def judge(tier):
    """A tier that ended badly has failed, whatever it counted; one that counted nothing, too."""
    reason = ""
    if tier.status and not tier.said["failed"]:
        reason = f"ended with status {tier.status}"
    elif tier.counts and not sum(tier.said.values()):
        reason = "no test ran"
    if reason:
        tier.said["failed"] += 1
        tier.failures.append([f"{tier.name}: {reason}", str(tier.log)])


class Run:
    def __init__(self, plan):
        self.plan, self.tiers, self.stopped = plan, [], ""
        self.printing = threading.Lock()
        for directory in ("check", "failed"):
            shutil.rmtree(BUILD / directory, ignore_errors=True)
            (BUILD / directory).mkdir(parents=True)

    def say(self, text):
        with self.printing:
            print(text, flush=True)

    def lane(self, tiers):
        for tier in tiers:
            if self.stopped:
                return
            self.say(f"== {tier.name}: begins, output in {os.path.relpath(tier.log)}")
            run(tier)
            self.tiers.append(tier)
            output = tier.log.read_text(errors="replace") if tier.counts or tier.status else ""
            self.say(f"== {tier.name}: {'FAILED' if tier.said['failed'] else 'done'} after "
                     f"{tier.seconds:.0f} s\n{output}")
            if tier.needed and tier.status:
                self.stopped = "the build failed"

    def all(self):
        for stage in self.plan:
            with ThreadPoolExecutor(len(stage)) as pool:
                try:
                    list(pool.map(self.lane, stage))
                except KeyboardInterrupt:
                    self.interrupt(stage)

    def interrupt(self, stage):
        """Ends what runs; make ends what it started."""
        self.stopped = "interrupted"
        for tier in (tier for lane in stage for tier in lane):
            if tier.process and tier.process.returncode is None:
                tier.process.terminate()

    def total(self, kind):
        return sum(tier.said[kind] for tier in self.tiers)


def summary(done, seconds):
    """A table of tiers, what was retried, what failed, and the last line."""
    yield f"{'tier':16}{'seconds':>8}{'of CPU':>8}{'passed':>8}{'failed':>8}{'skipped':>8}"
    for tier in done.tiers:
        counts = [tier.said[k] if tier.counts or tier.said["failed"] else ""
                  for k in ("passed", "failed", "skipped")]
        yield f"{tier.name:16}{tier.seconds:8.0f}{tier.cpu:8.0f}" + "".join(f"{n:>8}" for n in counts)
    yield f"{'all':16}{seconds:8.0f}"
    if done.stopped:
        yield f"stopped: {done.stopped}"
    for tier in done.tiers:
        yield from (f"FAILED {test}\n       see {os.path.relpath(where) if where else tier.log}"
                    for test, where in tier.failures)
    for tier in done.tiers:
        yield from (f"retried: {why}" for why in tier.remarks)
    if done.total("retried"):
        yield f"{done.total('retried')} retried"
    absent = [name for tier in done.tiers for name in tier.absent]
    yield (", ".join(f"{done.total(k)} {k}" for k in ("passed", "failed", "skipped"))
           + (f"; could not be had: {', '.join(absent)}" if absent else ""))


def main():
    start = time.monotonic()
    done = Run({"check": check_plan, "truth": truth_plan}[sys.argv[1]]())
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    done.all()
    print("\n".join(summary(done, time.monotonic() - start)), flush=True)
    return 1 if done.stopped or done.total("failed") else 0


if __name__ == "__main__":
    sys.exit(main())
