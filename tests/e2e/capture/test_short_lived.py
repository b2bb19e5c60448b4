# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that are over before anybody could look at them: every sample counts, with its name."""
import collections
import json
import re

import pytest

import noise
from present import need
from recording import succeeded, tachbpf
from summary import ROOT_FRAME, SYNTHETIC, files, lost_of_short_lives, owners

RATE = 999
PARALLEL = 8
ALL_OF_THEM = ("system-3.11", "pyenv-3.12.1", "sid-3.15")


class Brood:
    """count processes, some at a time; what they say and what was recorded."""

    def __init__(self, interpreter, scratch, out, oracle, count, cpu_ms, how, *options,
                 seconds=0):
        truth = out / "truth"
        argv = interpreter.command(scratch / "targets" / "brood.py", truth, count, PARALLEL,
                                   cpu_ms, how, seconds)
        self.finished = succeeded(tachbpf("-r", RATE, "-o", out / "p", "--json", *options, "--",
                                          *argv))
        self.summary = self.finished.summary
        self.missed = self.summary["ticks"]["missed"]
        self.cpu_s, self.names = {}, {}
        for line in open(truth):
            pid, ns, name = line.split()
            self.cpu_s[int(pid)] = int(ns) / 1e9
            self.names[int(pid)] = name
        assert len(self.cpu_s) == count
        self.owned = list(owners(self.summary, oracle))

    def check_owners(self):
        """Each sample is under its own process, with its own name. Samples by pid."""
        seen = collections.Counter(pid for pid, sample in self.owned
                                   if any(f.func == "burn_known" for f in sample.frames))
        print(f"{sum(seen.values())} of {sum(self.cpu_s.values()) * RATE:.0f} samples, "
              f"{len(seen)} of {len(self.cpu_s)} processes")
        assert seen, "not one sample"
        assert not set(seen) - set(self.cpu_s), "burn_known() in a process that has none"
        wrong = [(pid, f.func) for pid, sample in self.owned for f in sample.frames
                 if f.func.startswith("child_") and f.func != self.names[pid]]
        assert not wrong, wrong[:5]
        return seen

    def check(self, at_least):
        """Enough samples are there, each has its own name, all frames have one. Samples by pid."""
        seen = self.check_owners()
        assert sum(seen.values()) >= at_least * sum(self.cpu_s.values()) * RATE - self.missed

        frames = [f for _, sample in self.owned for f in sample.frames]
        nameless = [f for f in frames if f.func.startswith("<un")]
        assert len(nameless) <= 0.001 * len(frames), collections.Counter(nameless).most_common(3)
        assert not lost_of_short_lives(self.summary)
        return seen


@pytest.mark.interpreters("two")
@pytest.mark.parametrize("how", ("spawn", "fork", "shell"))
def test_no_short_process_gets_anothers_name(interpreter, scratch, out, oracle, how):
    """What each ran has a name of its own, in forked ones at the same addresses. Of 40 processes
    of 30 ms samples are due for 1.2 s; what a busy machine loses is counted."""
    brood = Brood(interpreter, scratch, out, oracle, 40, 30, how)
    seen = brood.check_owners()
    away = brood.missed + brood.summary["lost_total"] + brood.summary["unidentified"]
    assert sum(seen.values()) >= noise.least(sum(brood.cpu_s.values()), RATE, away)


@pytest.mark.truth
def test_short_processes_of_every_python_are_there(interpreter, scratch, out, oracle):
    """Spawned and forked in turn, 30 ms each.

    Of 200 processes 99 % must be there; what is chance is 1.8 times as much of 60.
    """
    Brood(interpreter, scratch, out, oracle, 60, 30, "both").check(0.98)


@pytest.mark.truth
@pytest.mark.parametrize("how", ("spawn", "fork"))
@pytest.mark.parametrize("cpu_ms, at_least", ((30, 0.99), (10, 0.95)))
@pytest.mark.parametrize("name", ALL_OF_THEM)
def test_two_hundred_short_processes_are_there(name, scratch, out, oracle, cpu_ms, at_least, how):
    Brood(need(name), scratch, out, oracle, 200, cpu_ms, how).check(at_least)


@pytest.mark.truth
@pytest.mark.parametrize("options", ((), ("--exclude-comm", "nobody*")), ids=("all", "chosen"))
@pytest.mark.parametrize("name", ALL_OF_THEM)
def test_shells_that_become_python(name, scratch, out, oracle, options):
    """That a process is none yet may be found out at the very moment when it becomes one."""
    seen = Brood(need(name), scratch, out, oracle, 300, 10, "shell", *options).check(0.95)
    assert len(seen) == 300


@pytest.mark.truth
@pytest.mark.parametrize("name", ("system-3.11", "sid-3.15"))
def test_five_hundred_children_of_a_fork_server(name, scratch, out, oracle):
    """Each makes code of its own at the same addresses as all others: none gets another's name."""
    brood = Brood(need(name), scratch, out, oracle, 500, 8, "fork", seconds=10)
    brood.check(0.95)
    assert sum(p.get("merged", 1) for p in brood.summary["processes"]) == 501


STARTS = ((19, 40), (99, 40), (999, 200))


def record_starts(scratch, out, rate, per_second):
    argv = need("pyenv-3.11.7").command(scratch / "targets" / "starts.py", 40, per_second, 15)
    summary = succeeded(tachbpf("-r", rate, "-o", out / "p", "--json", "--", *argv)).summary
    assert summary["frames"] > 500
    return summary


@pytest.mark.parametrize("rate, per_second", STARTS)
def test_starts_at_any_rate_are_named(scratch, out, rate, per_second):
    """Whose first sample is the only one, with deep stacks of what was never seen: all frames have names.

    Names have a time limit, which a slow machine may reach. Then each frame without a name is
    a code object that this sample deferred, and all of those are counted.
    """
    summary = record_starts(scratch, out, rate, per_second)
    assert summary["unresolved"] <= max(0.0001 * summary["frames"], summary["code_records_deferred"])


@pytest.mark.truth
@pytest.mark.parametrize("rate, per_second", STARTS)
def test_starts_on_a_machine_of_its_own_are_all_named(scratch, out, rate, per_second):
    summary = record_starts(scratch, out, rate, per_second)
    assert summary["unresolved"] <= 0.0001 * summary["frames"], summary["code_records_deferred"]


# Short is what lives for less than a second: on a busy machine some live longer, in files of their own.
@pytest.mark.parametrize("all_short", [False, pytest.param(True, marks=pytest.mark.truth)])
def test_short_processes_share_a_file_and_keep_their_names(python, scratch, out, oracle, all_short):
    brood = Brood(python, scratch, out, oracle, 200, 10, "spawn")
    merged = [p for p in brood.summary["processes"] if p.get("merged")]
    # the parent's, theirs, and a shim's at most
    assert not all_short or len(files(brood.summary)) <= 3
    assert merged
    members = collections.Counter()     # a process that executes is two, with the same pid
    for process in merged:
        for member in process["members"]:
            members[member["pid"]] += member["samples"]
    assert not all_short or sum(p["merged"] for p in merged) >= 200
    by_root = collections.Counter(pid for pid, sample in brood.owned
                                  if ROOT_FRAME.match(sample.frames[-1].func))
    assert by_root == +members
    assert all(pid == sample.tid for pid, sample in brood.owned)    # these have one thread each
    assert sum(p["samples"] for p in files(brood.summary)) == brood.summary["samples"]


def test_split_all_gives_each_its_file(python, scratch, out, oracle):
    brood = Brood(python, scratch, out, oracle, 200, 10, "spawn", "--split", "all")
    # a file for each that has a sample, and for no two the same one
    owned = collections.Counter(p["pid"] for p in files(brood.summary))
    assert set(brood.check_owners()) <= set(owned)
    assert not [s for _, s in brood.owned if s.frames and ROOT_FRAME.match(s.frames[-1].func)]


def test_a_merged_file_is_its_processes(python, scratch, out, oracle):
    """To report, split, info and --process; and CPython's own replay takes it as it is."""
    brood = Brood(python, scratch, out, oracle, 60, 20, "both")
    of = collections.Counter(pid for pid, _ in brood.owned)
    report = json.loads(tachbpf("report", "--by", "process", "--limit", 0, "--json",
                                out / "p").stdout)
    told = collections.Counter()
    for row in report["rows"]:
        told[row["pid"]] += row["self"]
    assert told == of

    # Of functions, too, the process frame is left out.
    totals = collections.Counter((f.file, f.func) for _, sample in brood.owned
                                 for f in {(f.file, f.func): f for f in sample.frames}.values()
                                 if f.file != SYNTHETIC)
    report = json.loads(tachbpf("report", "--limit", 0, "--json", out / "p").stdout)
    assert {(r["file"], r["function"]): r["total"] for r in report["rows"] if r["file"]} == totals

    pid = min(brood.cpu_s)
    one = json.loads(tachbpf("report", "--process", pid, "--json", out / "p").stdout)
    assert one["samples"] == of[pid]
    assert not [r for r in one["rows"] if r["function"].startswith("<process")]
    nobody = tachbpf("report", "--process", 4194303, out / "p")
    assert nobody.returncode == 1 and "no file matches --process" in nobody.stderr

    succeeded(tachbpf("split", "--by", "process", "-o", out / "pieces", out / "p"))
    pieces = json.loads((out / "pieces" / "session.json").read_text())["processes"]
    profiles = oracle.load(*(out / "pieces" / p["file"] for p in pieces))
    pieced = collections.Counter()
    for piece, profile in zip(pieces, profiles):
        pieced[piece["pid"]] += len(profile.samples)
        assert not any(ROOT_FRAME.match(f.func) for s in profile.samples for f in s.frames)
    assert pieced == of

    merged = max((out / "p").glob("merged-*.tach"), key=lambda path: path.stat().st_size)
    info, = json.loads(tachbpf("info", "--json", merged).stdout)["files"]
    assert {p["pid"] for p in info["processes"]} <= set(of)
    assert sum(p["samples"] for p in info["processes"]) == info["samples"]
    lines = oracle.replay("collapsed", merged).read_text().splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == info["samples"]
    assert all(re.search(r"<process \d+ ", line) for line in lines)


STARTS = """
import os, sys
for _ in range(30):
    os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", "import json, argparse"],
                              os.environ), 0)
"""


def test_new_processes_are_no_reason_for_a_larger_table(python, scratch):
    """Each process has its names sent anew: no size of the table changes that."""
    out = scratch / "starts"
    finished = succeeded(tachbpf("-r", 999, "-o", out, "--", *python.command("-c", STARTS)))
    assert json.loads((out / "session.json").read_text())["code_records"] > 0
    assert "names sent again" not in finished.stderr
