# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes and code without end: nothing of them stays, and nothing gets a name that was another's."""
import array
import collections
import json
import os
import re
import select
import shlex
import subprocess
from pathlib import Path

import pytest

from bpf_objects import map_entries
from present import FOUND
from recording import Recording, succeeded, tachbpf
from summary import files, lost_once_known, tach_files

pytestmark = pytest.mark.truth      # memory, tables and names under load: what keeps up, and when

RATE = 999
TORTURE_RATE, TORTURE_SECONDS = 2999, 30
# TACHBPF_CHURN=10000: the long version
CHURN = int(os.environ.get("TACHBPF_CHURN", 1500))

PASS = ("import subprocess, sys\n"
        "for i in range({}):\n"
        "    subprocess.run([sys.executable, '-S', '-E', '-c', 'pass'], check=True)\n"
        "print('done', flush=True)\n"
        "sys.stdin.readline()\n")


def resident_kib(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmRSS:\s+(\d+)", status, re.M)[1])


def is_alive(pid):
    return os.path.exists(f"/proc/{pid}")


class Churn:
    """One Python after the other that does nothing, while what the profiler holds is watched."""

    def __init__(self, python, out, count, everything, *options):
        target = subprocess.Popen(python.command("-c", PASS.format(count)), text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            whom = ["-a"] if everything else ["-p", target.pid, "--children"]
            self.watch(target, out, [*whom, *options])
        finally:
            target.kill()
            target.communicate()

    def watch(self, target, out, options):
        self.rss, self.fds = [], []
        with Recording([*options, "-r", RATE, "-o", out / "p", "--json"]) as recording:
            recording.wait_recording()
            pid = recording.process.pid
            self.fds_before = len(os.listdir(f"/proc/{pid}/fd"))
            while not self.is_done(target):
                self.rss.append(resident_kib(pid))
                self.fds.append(len(os.listdir(f"/proc/{pid}/fd")))
            subprocess.run(["sleep", "0.5"], check=True)        # the last ones' ends are read
            self.stale = {name: self.stale_entries(pid, name) for name in ("py_procs", "watched")}
            self.fds_after = len(os.listdir(f"/proc/{pid}/fd"))
            self.finished = succeeded(recording.stop())
        self.summary = self.finished.summary

    @staticmethod
    def is_done(target):
        """Within 0.2 s: has it said so?"""
        return bool(select.select([target.stdout], [], [], 0.2)[0])

    @staticmethod
    def stale_entries(pid, name):
        """Entries of processes that are gone: of those seen twice, nothing is on its way."""
        first = {tgid for tgid in map_entries(pid, name) if not is_alive(tgid)}
        subprocess.run(["sleep", "0.3"], check=True)
        return first & {tgid for tgid in map_entries(pid, name) if not is_alive(tgid)}


def test_many_processes_that_do_nothing(python, out):
    """Nothing of them stays: not in memory, not in the kernel's maps, not as files."""
    # not -a: what is held for another long-lived Python that comes meanwhile is no leak
    churn = Churn(python, out, CHURN, False)
    third = len(churn.rss) // 3
    assert third >= 3, "too quick to be measured"
    early, late = max(churn.rss[third:2 * third]), max(churn.rss[2 * third:])
    print(f"RSS {early} KiB, then {late} KiB")
    assert late <= 1.10 * early, churn.rss
    assert churn.stale == {"py_procs": set(), "watched": set()}
    merged = [p for p in churn.summary["processes"] if p.get("merged")]
    assert sum(p["merged"] for p in merged) >= CHURN
    assert not churn.summary["lost"]["lifecycle_events"]
    assert not churn.summary["lost"]["process_table_full"]


def test_files_of_the_dead_are_closed_at_once(python, out):
    churn = Churn(python, out, 400, True, "--split", "all")
    assert len(tach_files(out / "p")) >= 350        # some have no sample
    # more rows than are kept in memory: none is missing, each is told once
    rows = files(churn.summary)
    assert len({p["file"] for p in rows}) == len(rows) == len(tach_files(out / "p"))
    assert sum(p["samples"] for p in rows) == churn.summary["samples"] > 0
    assert churn.stale == {"py_procs": set(), "watched": set()}
    assert json.loads((out / "p" / "session.json").read_text())["processes"] == \
        churn.summary["processes"]
    # those of other tests' processes come and go, too
    assert max(churn.fds) <= churn.fds_before + 60, churn.fds
    assert churn.fds_after <= churn.fds_before + 40


# ---- code ----

def one_of_each():
    """A Python of each minor version and kind; all that have no version of code objects."""
    chosen = {}
    for i in FOUND:
        if not i.debug and not i.trace_refs:
            chosen.setdefault((i.minor, i.free_threaded, i.minor == (3, 11) and i.kind), i)
    return list(chosen.values())


@pytest.fixture(scope="module")
def tortured(scratch, oracle):
    """interpreter's name -> (when each number ran, its samples); all at once."""
    chosen = one_of_each()
    directory = scratch / "torture"
    directory.mkdir()
    commands = ["exec " + shlex.join(i.command("-S", "-E", scratch / "targets" / "torture.py",
                                              directory / i.name, TORTURE_SECONDS))
                for i in chosen]
    script = "".join(f"({c}) & " for c in commands) + "wait"
    finished = succeeded(tachbpf("-r", TORTURE_RATE, "-o", directory / "p", "--json", "--",
                                 "/bin/sh", "-c", script, timeout=4 * TORTURE_SECONDS + 60))
    by_file = {}
    for process in files(finished.summary):
        for i in chosen:
            if f"/{i.name} " in process["command"] + " " and process["samples"] > 100:
                by_file.setdefault(i.name, []).append(process)
    return finished.summary, directory, by_file


@pytest.mark.parametrize("name", [i.name for i in one_of_each()])
def test_code_at_used_addresses_never_gets_an_old_name(name, tortured, oracle):
    summary, directory, by_file = tortured
    moments = array.array("q")
    with open(directory / name, "rb") as f:
        moments.frombytes(f.read())
    process, = by_file[name]
    profile, = oracle.load(process["path"])
    wrong, named, kinds = [], 0, collections.Counter()
    for sample in profile.samples:
        for frame in sample.frames:
            numbers = set(re.findall(r"made_(\d{7})", frame.func + " " + frame.file))
            if not numbers or frame.func == "<module>":
                continue        # a module's code runs before the clock is read
            named += 1
            kinds[re.sub(r"\d+", "N", f"{frame.file}:{frame.func}")] += 1
            number = int(min(numbers))
            begin, end = moments[2 * number:2 * number + 2]
            if len(numbers) > 1 or not begin // 1000 <= sample.time_us <= end // 1000:
                wrong.append((number, frame, sample.time_us - begin // 1000))
    print(f"{name}: {len(moments) // 2} functions in {TORTURE_SECONDS} s, {named} frames of them, "
          f"{dict(kinds)}")
    assert named >= 300, "too few to say anything"
    assert len(kinds) >= 5
    assert not wrong, (len(wrong), wrong[:5])
    frames = sum(len(s.frames) for s in profile.samples)
    nameless = sum(f.func.startswith("<un") for s in profile.samples for f in s.frames)
    assert nameless <= 0.001 * frames


def test_torture_loses_nothing(tortured):
    assert not lost_once_known(tortured[0])
