#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`make check`, `make check-all`, `make check-truth`: runs the tiers, adds up what they counted.

A plan is a list of stages, one after the other; a stage has lanes, side by side; a lane has
tiers, one after the other. A tier is a target of the Makefile that says its counts by tally.py.
A tier that fails stops no other, a build that fails stops all. The last line is
`N passed, N failed, N skipped`, and then the systems that could not be had. A test of `make check`
that slept for more than SLEEP_MAX_S does not count: it failed. In the environment: BUILD, the
build's directory; DOCS=1: the result of `make check-all` goes to docs/testing.md.
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
from interp.cache import cache_dir  # noqa: E402

CPUS = len(os.sched_getaffinity(0))
SLEEP_MAX_S = 2         # of a test of make check, in all; shorter steps of waiting for an event are free (gate.py)
PAGE = HERE.parent / "docs" / "testing.md"
MARKS = ("<!-- check-all: written by make check-all DOCS=1 -->", "<!-- end of check-all -->")
BUILD = Path(os.environ.get("BUILD", "build")).absolute()


@dataclass
class Tier:
    name: str
    make: tuple             # target and variables
    counts: bool = True     # has tests; the others build or prepare
    nice: int = 0           # gives way to tiers beside it
    needed: bool = False    # if it fails, nothing else is of use
    gate: bool = False      # of make check: no test may wait by the clock
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


def check_plan():
    """What waits (pytest) beside what computes, at a lower priority, but not so low that other people's
    work starves it. Unit tests run under sanitizers only, except for those that sanitizers cannot judge."""
    few = ("PREPARED=1", "SELECT=gate", "PHASE=beside")
    return [
        [[Tier("build", ("all",), counts=False, needed=True)],
         [Tier("interpreters", ("interpreters", "MORE=few"), counts=False)]],
        [[Tier("e2e", ("check-e2e", *few), gate=True), Tier("bpf", ("check-bpf", *few), gate=True)],
         [Tier("unit", ("SAN=1", "SELECT=gate", "check-unit"), nice=5, gate=True), Tier("plain", ("check-plain",), nice=5, gate=True),
          Tier("fuzz", ("fuzz", "FUZZ_RUNS=1000"), nice=5, gate=True)]],
    ]


def all_plan():
    """All that needs no quiet machine. bpf's tests that are alone change the machine."""
    every = ("PREPARED=1", "TACHBPF_INTERPRETERS=all")
    arm64 = [Tier("arm64", ("ARCH=arm64", "all"), counts=False, nice=19)]
    return [
        build(("build", "all"), ("interpreters", "interpreters")),
        [[Tier("bpf", ("check-bpf", *every, "PHASE=beside")), Tier("e2e", ("check-e2e", *every, "PHASE=beside"))],
         [Tier("unit", ("check-unit",)), Tier("rules", ("check-rules",)), Tier("unit-san", ("SAN=1", "check-unit"), nice=19),
          Tier("fuzz", ("fuzz",), nice=19), *(arm64 if os.uname().machine == "x86_64" else []),
          Tier("python", ("check-python",)), Tier("distros", ("check-distros", "PREPARED=1")), Tier("zoo", ("check-zoo", "PREPARED=1"))]],
        [[Tier("bpf-alone", ("check-bpf", *every, "PHASE=alone")), Tier("servers", ("check-servers", "PREPARED=1")),
          Tier("warehouse", ("check-warehouse", "PREPARED=1")),
          Tier("kernels", ("check-kernels", "ALL=1", "PREPARED=1")), Tier("planted", ("check-planted", "PREPARED=1"), counts=False)]],
    ]


def truth_plan():
    """On a machine of its own: nothing beside anything."""
    return [
        build(("build", "all"), ("interpreters", "interpreters")),
        [[Tier("truth-bpf", ("truth-bpf", "PREPARED=1")),
          Tier("truth-e2e", ("truth-e2e", "PREPARED=1"))]],
    ]


def makeflags():
    """The variables that were given to make, except DOCS, which is ours; its job server is not."""
    words = os.environ.get("MAKEFLAGS", "").split(" ")
    return " ".join(w for w in words if not w.startswith(("-j", "--jobserver", "DOCS=")))


def compiler_cache():
    """What has ccache find what any clone compiled before, beside the interpreters; {} without it."""
    if not shutil.which("ccache"):
        return {}
    return {"CCACHE": "ccache", "CCACHE_DIR": str(Path(cache_dir(), "ccache")), "CCACHE_MAXSIZE": "1G",
            "CCACHE_BASEDIR": os.getcwd(), "CCACHE_NOHASHDIR": "1", "CCACHE_COMPILERCHECK": "content"}


def run(tier):
    tier.tally.touch()
    env = dict(os.environ, **compiler_cache(), DOCS="", MAKEFLAGS=makeflags(), TACHBPF_TALLY=str(tier.tally),
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
    if tier.gate and line.get("slept", 0) > SLEEP_MAX_S:
        refuse(tier, line)
    tier.failures += line.get("failures", ())
    tier.absent += line.get("absent", ())
    if "why" in line:
        tier.remarks.append(f"{line.get('test', tier.name)}: {line['why']}")


def refuse(tier, line):
    """A test that waited by the clock: its verdict depends on how busy the machine is."""
    tier.said["passed"] -= 1
    tier.said["failed"] += 1
    tier.failures.append([f"{line['test']}: slept {line['slept']:.1f} s, at most {SLEEP_MAX_S} s are allowed in make check: "
                          "wait for an event, or move it to check-truth", ""])


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


def record(done, lines):
    """The table and the last line into docs/testing.md, with the commit and the date."""
    commit = subprocess.run(["git", "log", "-1", "--format=%h"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    text = PAGE.read_text()
    begin, end = (text.index(mark) for mark in MARKS)
    said = "\n".join([f"Commit {commit}, {time.strftime('%Y-%m-%d')}:", "", "```", *lines, "```", ""])
    PAGE.write_text(f"{text[:begin]}{MARKS[0]}\n{said}{text[end:]}")


def main():
    start = time.monotonic()
    done = Run({"check": check_plan, "all": all_plan, "truth": truth_plan}[sys.argv[1]]())
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    done.all()
    lines = list(summary(done, time.monotonic() - start))
    print("\n".join(lines), flush=True)
    if os.environ.get("DOCS") and sys.argv[1] == "all":
        record(done, lines)
    return 1 if done.stopped or done.total("failed") else 0


if __name__ == "__main__":
    sys.exit(main())
