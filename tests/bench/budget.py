#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make budget: ratios that do not depend on the machine, recorded in budget.json.

--check compares with it instead, as tests/bpf/test_budget.py does. docs/testing.md says what the
figures are (The budget). In the environment: TACHBPF, READ_COST (the program of read_cost.c, with
its BPF object beside it).
"""
import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e" / "lib")]

import budget_figures as arithmetic  # noqa: E402
import cold_cost  # noqa: E402
import interpreters  # noqa: E402
import sample_cost  # noqa: E402
from bpf_objects import bpf_stats, held, program_name  # noqa: E402
from machine import description  # noqa: E402
from paths import binary  # noqa: E402
from processes import TIMEOUT, online_cpus  # noqa: E402
from recording import Recording, succeeded  # noqa: E402

RECORDED = HERE / "budget.json"
ROUNDS = 5
WINDOWS, FILE_WINDOWS = 6, 15
# One for each way in which a walk costs: frames and code objects are read one by one; code objects
# are; neither is. Then the builds that are preferred.
MINORS = {(3, 9): ("bullseye-3.9",), (3, 11): ("system-3.11", "bookworm-3.11"),
          (3, 13): ("sid-3.13",)}
COLD_MINORS, COLD_DEPTH, COLD_RATE = ("3.11", "3.13"), 20, 19
MODES = {
    "-p": [], "-a": ["-a"], "-a --native": ["-a", "--native"], "-a --async": ["-a", "--async"],
    "-a -m wall": ["-a", "-m", "wall"], "-a -m offcpu": ["-a", "-m", "offcpu"],
    "-a -m gil": ["-a", "-m", "gil"], "-a -m exception": ["-a", "-m", "exception"],
    "-a -m all": ["-a", "-m", "all"], "-m mem": ["-m", "mem"],
    "-a -e page-faults": ["-a", "-e", "page-faults"],
}


def chosen():
    """minor ("3.11") -> Interpreter; a missing one is left out."""
    found = [i for i in interpreters.discover()
             if not (i.debug or i.free_threaded or i.trace_refs or i.libc == "musl")]
    by_name = {i.name: i for i in found}
    answer = {}
    for minor, preferred in MINORS.items():
        names = [n for n in preferred if n in by_name]
        names += sorted(i.name for i in found if i.minor == minor)
        if names:
            answer["%d.%d" % minor] = by_name[names[0]]
    return answer


def read_cost(cpu):
    """{"step": ns, "cold": ns} of a step and a read: the median of thousands of runs."""
    program = os.environ["READ_COST"]
    done = subprocess.run([program, program + ".bpf.o", str(cpu)],
                          capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode:
        raise Missing(done.stderr.strip())
    said = json.loads(done.stdout)
    return {kind: said[kind]["median"] for kind in ("step", "cold")}


def walk(interpreter, depth, cpu, scratch):
    with sample_cost.busy(interpreter, scratch, depth, "distinct", cpu) as pid:
        cost = sample_cost.measure(pid, cpu, scratch, WINDOWS)
    return {"ns": min(cost.kernel_ns), "ring": cost.ring_bytes}


def file_bytes(interpreter, cpu, scratch):
    """Of a sample in a file of some seconds: the program is a fixed walk through 400 functions."""
    with sample_cost.spinning(interpreter, cpu, scratch / "many_stacks.py", 1) as pid:
        return sample_cost.measure(pid, cpu, scratch, FILE_WINDOWS).file_bytes


def cold_ns(interpreter, cpu, scratch):
    """Of a sample at a low rate, while the target walks through memory: the median."""
    cold = cold_cost.Cold()
    with sample_cost.busy(interpreter, scratch, COLD_DEPTH, "distinct", cpu, cold_cost.WALKED_MIB) as pid:
        cold_cost.measure([cold], [binary()], pid, cpu, scratch, COLD_RATE)
    return cold.median()


def one_round(found, scratch):
    cpu = online_cpus() - 1
    return {"reads": read_cost(cpu), "file": file_bytes(found["3.11"], cpu, scratch),
            "cold": {minor: cold_ns(found[minor], cpu, scratch) for minor in COLD_MINORS},
            "walks": {minor: {depth: walk(interpreter, depth, cpu, scratch)
                              for depth in (arithmetic.LOW, arithmetic.HIGH)}
                      for minor, interpreter in found.items()}}


def verified(pid, known):
    """Adds the programs that a process holds: known is id -> (name, instructions verified)."""
    for said in held(pid, "prog_id").values():
        if said["prog_id"] not in known and "verified_insns" in said:
            name = program_name(said["prog_id"])
            if name:
                known[said["prog_id"]] = (name, int(said["verified_insns"]))


def instructions_of(options, output):
    """program -> instructions that the verifier looked at, of a short recording. Programs
    are looked for as long as it runs: they are loaded one after the other."""
    known = {}
    with Recording([*options, "-d", "0.5", "-o", output, "-q"]) as recording:
        while recording.process.poll() is None:
            verified(recording.process.pid, known)
            time.sleep(0.02)
        succeeded(recording.wait())
    return dict(sorted(known.values()))


def instructions(scratch):
    """mode -> program -> instructions that the verifier looked at; empty before Linux 5.16."""
    found = {}
    for number, (mode, options) in enumerate(MODES.items()):
        of = options if "-a" in options else ["-p", os.getpid(), *options]
        found[mode] = instructions_of(of, scratch / f"mode-{number}")
    return {mode: programs for mode, programs in found.items() if programs}


def kernel():
    """What the verifier's figures depend on."""
    return f"{os.uname().machine} " + ".".join(os.uname().release.split(".")[:2])


def processor():
    """What the cold figures depend on."""
    return description().split(", ")[0]


class Missing(Exception):
    """What is needed and is not there."""


class Measured:
    """Rounds and instructions of this machine."""

    def __init__(self, say=print):
        self.say, self.rounds, self.found = say, [], chosen()
        missing = [m for m in ("%d.%d" % m for m in MINORS) if m not in self.found]
        if missing:
            raise Missing(f"no CPython {', '.join(missing)}: make interpreters")
        self.scratch = Path(tempfile.mkdtemp(prefix="tachbpf-budget-", dir="/tmp"))
        self.scratch.chmod(0o755)
        for script in ("stack.py", "many_stacks.py"):
            shutil.copy(HERE / script, self.scratch)

    def __enter__(self):
        self.first = contextlib.ExitStack()
        self.first.enter_context(sample_cost.before_others(online_cpus() - 1))
        self.first.enter_context(bpf_stats())
        return self

    def __exit__(self, *_):
        self.first.close()
        shutil.rmtree(self.scratch)

    def measure(self, number):
        for _ in range(number):
            self.rounds.append(one_round(self.found, self.scratch))
            reads = self.rounds[-1]["reads"]
            self.say(f"round {len(self.rounds)}: a step {reads['step']:.1f} ns, "
                     f"a cold read {reads['cold']:.0f} ns", flush=True)

    def instructions(self):
        return instructions(self.scratch)

    def compare(self, recorded):
        """What rose by more than it may. More rounds are measured before that is said: each can
        only bring the least time nearer to what the code takes."""
        self.measure(ROUNDS)
        said = self.judge(recorded)
        if said:
            self.measure(ROUNDS)
            said = self.judge(recorded)
        return said

    def judge(self, recorded):
        said = []
        for of, known in ((arithmetic.figures, recorded["figures"]),
                          (arithmetic.cold_figures, recorded["cold"].get(processor()))):
            if known is not None:
                said += arithmetic.judge(of(self.rounds), known, arithmetic.margins(self.rounds, of))
        return said

    def compare_instructions(self, recorded):
        """The same of the verifier; None: this kernel is not recorded."""
        if kernel() not in recorded["instructions"]:
            return None
        return arithmetic.judge_instructions(self.instructions(),
                                             recorded["instructions"][kernel()])


def read_recorded():
    if not RECORDED.exists():
        return {"figures": {}, "cold": {}, "instructions": {}}
    return json.loads(RECORDED.read_text())


def show(figures, before):
    """The table: what is recorded now, and what was before."""
    print(f"\n{'':50}{'unit':>12}{'before':>10}{'now':>10}{'margin':>8}{'cold reads':>12}")
    for name, f in figures.items():
        was = before.get(name, {}).get("value")
        print(f"{name:50}{f['unit']:>12}{was if was is not None else '-':>10}{f['value']:>10}"
              f"{f['margin']:>8.2f}{f.get('cold reads', ''):>12}")


def show_instructions(found, before):
    print(f"\ninstructions verified, {kernel()} (in brackets: before)")
    for mode, programs in found.items():
        print(f"{mode}: " + ", ".join(
            f"{program} {n}"
            + (f" ({was})" if (was := before.get(mode, {}).get(program, n)) != n else "")
            for program, n in programs.items()))


def say_noise(figures):
    for name in (n for n, f in figures.items() if f["margin"] >= arithmetic.MOST_MARGIN):
        print(f"{name}: its rounds differ much: a quieter machine gives a narrower bound")


def write(measured):
    recorded = read_recorded()
    measured.measure(ROUNDS)
    figures, found = arithmetic.record(measured.rounds), measured.instructions()
    cold = arithmetic.record(measured.rounds, arithmetic.cold_figures)
    show({**figures, **cold}, {**recorded["figures"], **recorded["cold"].get(processor(), {})})
    show_instructions(found, recorded["instructions"].get(kernel(), {}))
    say_noise({**figures, **cold})
    pythons = ", ".join(i.name for i in measured.found.values())
    RECORDED.write_text(json.dumps({
        "measured": f"{time.strftime('%Y-%m-%d', time.gmtime())}, {description()}, {pythons}, "
                    f"{len(measured.rounds)} rounds",
        "figures": figures,
        "cold": {**recorded["cold"], processor(): cold},
        "instructions": {**recorded["instructions"], **({kernel(): found} if found else {})},
    }, indent=1) + "\n")
    print(f"\nrecorded in {os.path.relpath(RECORDED)}")
    return 0


def check(measured):
    recorded = read_recorded()
    said = measured.compare(recorded)
    figures = {**arithmetic.record(measured.rounds),
               **arithmetic.record(measured.rounds, arithmetic.cold_figures)}
    show(figures, {**recorded["figures"], **recorded["cold"].get(processor(), {})})
    say_noise(figures)
    if processor() not in recorded["cold"]:
        print(f"the cold figures of {processor()} are not recorded: not compared")
    verifier = measured.compare_instructions(recorded)
    if verifier is None:
        print(f"the verifier's figures of {kernel()} are not recorded: not compared")
    said += verifier or []
    print("\n".join(said) or "within the budget")
    return 1 if said else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("budget: needs root")
    try:
        with Measured() as measured:
            return check(measured) if args.check else write(measured)
    except Missing as why:
        raise SystemExit(f"budget: {why}") from None


if __name__ == "__main__":
    sys.exit(main())
