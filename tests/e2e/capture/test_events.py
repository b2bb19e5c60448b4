# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""-e EVENT: each event is a sample with the stack of who caused it. Programs keep a book of what their functions
do, and each function's samples are as many."""
import collections
import json
import os
import subprocess

import pytest

from paths import binary
from present import need
from recording import Recording, succeeded, tachbpf
from summary import files, lost
from target import Target

pytestmark = pytest.mark.interpreters("two")


class Run:
    """A target's book, and how often each function is in the stacks of one event."""

    def __init__(self, interpreter, scratch, out, event, *plan, options=()):
        path = out / "event.tach"
        with Target(interpreter, scratch, *plan, program="events.py") as target, \
                Recording(["-p", target.pid, "-e", event, "-o", path, "--json",
                           *options]) as recording:
            recording.wait_recording(cpus=1)
            target.go()
            self.book = target.wait_done(600)["book"]
            self.pid = target.pid
            target.leave()
            self.summary = succeeded(recording.wait()).summary
        self.events = self.summary["events"]
        rows = json.loads(report(path, "--json", "--limit", 0))["rows"] if files(self.summary) \
            else []
        self.total = collections.Counter()
        for row in rows:
            self.total[row["function"]] += row["total"]

    def check_sums(self):
        """Each event that was seen has ended in one way, and each sample is in the file."""
        ends = {k: v for k, v in self.events.items()
                if k not in ("every", "seen", "without_stack")}
        assert sum(ends.values()) == self.events["seen"], self.events
        in_files = self.events["samples"] + self.events["without_stack"]
        assert self.summary["samples"] == in_files, self.summary


def report(path, *options):
    return succeeded(tachbpf("report", path, *options)).stdout


EXACT = [
    ("syscalls:sys_enter_openat", {"opens_many", "opens_few"}),
    ("tracepoint:syscalls:sys_enter_fsync", {"syncs"}),
    ("sched:sched_process_fork", {"starts"}),
    ("uprobe:libc:fsync", {"syncs"}),
]


@pytest.mark.parametrize("event, functions", EXACT, ids=[e for e, _ in EXACT])
def test_counts_are_exact(event, functions, interpreter, scratch, out):
    """Every call of each function, and none of another's."""
    run = Run(interpreter, scratch, out, event)
    run.check_sums()
    assert not lost(run.summary)
    for name, count in run.book.items():
        if name in functions:
            assert run.total[name] == count, (name, run.total)
        elif event != "syscalls:sys_enter_openat":   # a thread or an import may open a file
            assert not run.total[name], (name, run.total)


@pytest.mark.interpreters("one")
@pytest.mark.parametrize("event, name", [("minor-faults", "touches"), ("faults", "touches"),
                                         ("cs", "sleeps")])
def test_counts_of_the_kernel(event, name, interpreter, scratch, out):
    """As many as getrusage() says; the call itself, and what is between it and the loop, cause a
    few more."""
    run = Run(interpreter, scratch, out, event)
    run.check_sums()
    away = sum(lost(run.summary).values())
    assert run.book[name] - away <= run.total[name] <= run.book[name] + 5, run.total


@pytest.mark.interpreters("one")
def test_one_of_ten(interpreter, scratch, out):
    """-c 10: on each CPU every tenth event; each CPU may have up to nine that none stands for."""
    run = Run(interpreter, scratch, out, "syscalls:sys_enter_getppid", "storm=5000",
              options=["-c", 10])
    run.check_sums()
    events = run.events
    assert events["every"] == 10 and not lost(run.summary)
    taken = events["samples"] + events["without_stack"]
    cpus = os.cpu_count()
    assert 5000 - 9 * cpus <= 10 * taken <= 5000
    assert taken + events["passed_over"] == 5000


@pytest.mark.interpreters("one")
def test_a_storm_stays_within_the_budget(interpreter, scratch, out):
    """A million system calls as fast as Python can: each is a sample or counted as beyond the
    budget, with its process and thread; walks take an eighth of a CPU and 5 ms at most."""
    run = Run(interpreter, scratch, out, "syscalls:sys_enter_getppid", "storm=1000000",
              options=["--self-time"])
    run.check_sums()
    beyond = run.summary["lost"]["events_beyond"]
    assert beyond > 0 and run.summary["lost_total"] == beyond
    assert run.total["storms"] + beyond == run.book["storms"] == 1000000
    row, = [p for p in run.summary["processes"] if p["pid"] == run.pid]
    assert row["lost"]["events_beyond"] == beyond
    assert row["lost_threads"][str(run.pid)]["events_beyond"] == beyond
    cost = run.summary["sample_time"]
    spent_s = run.total["storms"] * cost["mean_ns"] / 1e9
    print(f"{run.total['storms']} samples of {cost['mean_ns']} ns in {run.summary['duration_s']} s")
    # the last walk of a CPU may go beyond by its own length
    assert spent_s <= run.summary["duration_s"] / 8 * os.cpu_count() + 0.006 * os.cpu_count()


def sdt_notes(path):
    return subprocess.run(["readelf", "-n", path], capture_output=True, text=True,
                          check=False).stdout.count("stapsdt")


def test_usdt_of_cpython(scratch, out):
    """Debian's Python has CPython's own probes; each has a semaphore."""
    interpreter = need("system-3.11")
    executable = os.path.realpath(interpreter.command()[0])
    if not sdt_notes(executable):
        pytest.skip(f"{executable} was built without --with-dtrace")
    run = Run(interpreter, scratch, out, "usdt:python:gc__start")
    run.check_sums()
    assert not lost(run.summary)
    assert run.total["collects"] == run.book["collects"]
    assert run.events["samples"] == run.book["collects"]


@pytest.fixture(scope="module")
def library(scratch):
    path = scratch / "libprobed.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", path,
                    scratch / "targets" / "libprobed.c"], check=True)
    return path


@pytest.mark.parametrize("probe, places", [("work", 2), ("guarded", 1)])
def test_usdt_of_a_library(probe, places, library, scratch, out):
    """The library is loaded after the begin: given by its path. A probe in two places is two
    events for each call; one that is guarded fires because its semaphore is set."""
    run = Run(need("system-3.11"), scratch, out, f"usdt:{library}:probed:{probe}",
              f"library={library}")
    run.check_sums()
    assert not lost(run.summary)
    assert run.total["calls_library"] == places * run.book["calls_library"]


def test_a_command(scratch, out):
    """Who opens files, from the first line of a program on, and what its children open."""
    code = ("import os, subprocess, sys\n"
            "def opens(n):\n"
            "    for _ in range(n): os.close(os.open('/dev/null', os.O_RDONLY))\n"
            "opens(int(sys.argv[1]))\n"
            "if len(sys.argv) == 2: subprocess.run([sys.executable, __file__, '33', 'x'])\n")
    program = scratch / "opens.py"
    program.write_text(code, encoding="utf-8")
    interpreter = need("system-3.11")
    finished = succeeded(tachbpf("-e", "syscalls:sys_enter_openat", "-o", out / "rec", "--json",
                                 "--", *interpreter.command(program, 77)))
    rows = json.loads(report(out / "rec", "--json", "--limit", 0))
    assert rows["event"] == "syscalls:sys_enter_openat"
    assert sum(r["total"] for r in rows["rows"] if r["function"] == "opens") == 77 + 33
    assert not lost(finished.summary)
    assert "event syscalls:sys_enter_openat" in report(out / "rec")
    session = json.loads((out / "rec" / "session.json").read_text())
    assert session["event"] == "syscalls:sys_enter_openat" and session["mode"] == "event"


WRONG = [
    (["-e", "page-fault"], 2, "did you mean page-faults?"),
    (["-e", "kprobe:vfs_read"], 2, "kprobe is not supported"),
    (["-e", "syscalls:sys_enter_opnat"], 1, "did you mean syscalls:sys_enter_openat?"),
    (["-e", "sycalls:sys_enter_openat"], 1, "did you mean syscalls:sys_enter_openat?"),
    (["-e", "uprobe:libnosuch:f"], 1, "neither ld.so.cache nor PATH contains libnosuch"),
    (["-e", "uprobe:libc:no_such_function"], 1, "it has no function of this name"),
    (["-e", "usdt:python:gc__start"], 1, "no file:"),
    (["-e", "page-faults", "-m", "offcpu"], 2, "leave one of them out"),
    (["-e", "page-faults", "-m", "mem"], 2, "-e cannot be used with -m mem"),
    (["-e", "page-faults", "-r", "99"], 2, "-r cannot be used with this event"),
    (["-c", "10"], 2, "-c requires -e EVENT"),
    (["-e", "syscalls:sys_enter_openat", "-C", "0"], 2, "recorded on all CPUs"),
]


@pytest.mark.parametrize("options, status, text", WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_errors_say_what_to_do(options, status, text, scratch, out):
    finished = tachbpf(*options, "-o", out / "rec", "--", "/bin/true")
    assert finished.returncode == status and text in finished.stderr, repr(finished)
    assert not (out / "rec").exists()


def test_no_hardware_counters(scratch, out):
    """Where the CPU counts cache misses they are recorded; elsewhere an error says so."""
    finished = tachbpf("-e", "cache-misses", "-o", out / "rec", "--", "/usr/bin/python3", "-c",
                       "pass")
    if finished.returncode == 0:
        pytest.skip("this machine has hardware counters")
    assert finished.returncode == 1
    assert "this machine has no hardware counter for cache-misses" in finished.stderr


def test_tracefs_stays_where_it_is(scratch, out):
    """Where tracefs is not mounted, nothing is mounted for long, or for others to see."""
    before = open("/proc/mounts", encoding="utf-8").read()
    succeeded(tachbpf("-e", "syscalls:sys_enter_fsync", "-o", out / "rec", "--",
                      "/usr/bin/python3", "-c", "import os; os.getpid()"))
    assert open("/proc/mounts", encoding="utf-8").read() == before
    assert binary().exists()
