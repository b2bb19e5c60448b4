# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that something keeps from running: a signal, a tracer, a frozen cgroup; and page faults."""
import contextlib
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cgroups
from busy_program import Busy
from processes import kill, wait_until
from recording import Recording, succeeded, tachbpf

pytestmark = pytest.mark.interpreters("one")
RATE = 999
SLACK = 0.1     # of the scheduler's clock, which interrupts delay
KINDS = ("signal", "tracer", "gdb", "v2", "v1")
# Traces the process whose pid is its argument, until it is killed.
TRACER = """
import ctypes, os, sys
if ctypes.CDLL(None, use_errno=True).ptrace(16, int(sys.argv[1]), None, None):     # PTRACE_ATTACH
    sys.exit(os.strerror(ctypes.get_errno()))
os.waitpid(int(sys.argv[1]), 0)
print("attached", flush=True)
sys.stdin.read()
"""


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@contextlib.contextmanager
def traced(pid, *argv):
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          start_new_session=True) as tracer:
        try:
            wait_until(lambda: state_of(pid) == "t", f"{argv[0]} has attached")
            comm = Path(f"/proc/{tracer.pid}/comm").read_text().strip()
            yield f"traced by {tracer.pid} ({comm})", "traced by"
        finally:
            kill(tracer)


@contextlib.contextmanager
def frozen(pid, mount, switch, on, off, is_frozen):
    with cgroups.Tree(mount) as tree:
        inner = tree.make("in", "side")
        (inner / "cgroup.procs").write_text(str(pid))
        try:
            (tree.top / "in" / switch).write_text(on)
            wait_until(lambda: is_frozen(inner), "it is frozen")
            yield f"frozen in cgroup {tree.path(tree.top / 'in')}", "frozen in cgroup"
        finally:
            (tree.top / "in" / switch).write_text(off)
            (mount / "cgroup.procs").write_text(str(pid))


@contextlib.contextmanager
def held(pid, kind):
    """Yields what is said of the process, and the part of it that each command knows."""
    if kind == "signal":
        subprocess.run(["kill", "-STOP", str(pid)], check=True)
        wait_until(lambda: state_of(pid) == "T", "it is stopped")
        yield "stopped by SIGSTOP", "stopped by a signal"
        subprocess.run(["kill", "-CONT", str(pid)], check=True)
    elif kind == "tracer":
        with traced(pid, sys.executable, "-c", TRACER, str(pid)) as said:
            yield said
    elif kind == "gdb":
        if not shutil.which("gdb"):
            pytest.skip("no gdb")
        with traced(pid, "gdb", "-nx", "-q", "-p", str(pid)) as said:
            yield said
    elif kind == "v2":
        mount = cgroups.v2()
        if not mount:
            pytest.skip("no cgroup v2 is mounted here")
        with frozen(pid, mount, "cgroup.freeze", "1", "0",
                    lambda d: "frozen 1" in (d / "cgroup.events").read_text()) as said:
            yield said
    else:
        mount = next((d for kind, options, d in cgroups.mounts()
                      if kind == "cgroup" and "freezer" in options), None)
        if not mount:
            pytest.skip("no freezer of cgroup v1 is mounted here")
        with frozen(pid, mount, "freezer.state", "FROZEN", "THAWED",
                    lambda d: (d / "freezer.state").read_text() == "FROZEN\n") as said:
            yield said


def leaves(profile):
    return {s.frames[0].func for s in profile.samples}


@pytest.mark.parametrize("kind", KINDS)
def test_who_holds_a_process(interpreter, out, oracle, kind):
    """Every command says it, of a process that computed until then."""
    with Busy(interpreter) as pid:
        wall = Recording(["-p", pid, "-m", "wall", "-r", RATE, "-o", out / "wall.tach"])
        with wall, contextlib.ExitStack() as stack:
            wall.wait_recording()
            begun = time.monotonic()
            said, known = stack.enter_context(held(pid, kind))
            check_live(pid, said, known, begun)
            succeeded(wall.stop())
            offcpu = Recording(["-p", pid, "-m", "offcpu", "-r", RATE, "-o", out / "offcpu.tach"])
            with offcpu:
                offcpu.wait_recording()
                time.sleep(0.05)
                succeeded(offcpu.stop())
    profile, = oracle.load(out / "wall.tach")
    assert f"<{said}>" in leaves(profile), leaves(profile)
    assert not {name for name in leaves(profile) if name.startswith("<blocked")}
    profile, = oracle.load(out / "offcpu.tach")
    assert leaves(profile) == {f"<{said}>"}
    assert profile.samples[0].frames[-1].func == "<module>"
    for path in "wall.tach", "offcpu.tach":
        text = succeeded(tachbpf("report", "--limit", "0", out / path)).stdout
        assert f"<{said}>" in text, text


def check_live(pid, said, known, begun):
    """said: what dump says. known: how what /proc says begins. begun: it ran then."""
    thread, = json.loads(succeeded(tachbpf("dump", "--json", pid)).stdout)["processes"][0]["threads"]
    assert thread["state"] == "held" and thread["held"] == said and thread["call"] is None, thread
    assert 0 < thread["idle"] < time.monotonic() - begun + SLACK, thread
    assert f" (main): {said}, has not run for " in succeeded(tachbpf("dump", pid)).stdout
    row, = json.loads(succeeded(tachbpf("top", "--json", "--once", "-i", "0.2", pid)).stdout)["processes"]
    assert row["held"].startswith(known) and row["hottest"] is None, row
    assert known in succeeded(tachbpf("top", "--once", "-i", "0.2", pid)).stdout
    rows = {p["pid"]: p for p in json.loads(succeeded(tachbpf("ps", "--json")).stdout)["pythons"]}
    assert rows[pid]["held"] == row["held"]
    assert f"{pid}: {row['held']}\n" in succeeded(tachbpf("ps")).stdout
    assert row["held"] == said or "signal" in known


def test_a_stop_has_its_row_in_the_report(interpreter, out):
    """Its time is not that of the function that computed: a profile says so without an option."""
    with Busy(interpreter) as pid, held(pid, "signal") as (said, _), \
            Recording(["-p", pid, "-m", "wall", "-r", RATE, "-o", out / "x.tach"]) as recording:
        recording.wait_recording()
        time.sleep(0.1)
        succeeded(recording.stop())
    text = succeeded(tachbpf("report", out / "x.tach")).stdout
    row, = [line.split() for line in text.splitlines() if line.endswith(f"<{said}>")]
    assert float(row[0]) == 100, text


def kernel_marks_faults():
    types = subprocess.run(["bpftool", "btf", "dump", "file", "/sys/kernel/btf/vmlinux"], capture_output=True, text=True,
                           check=True).stdout
    return "'in_user_fault'" in types


def test_a_page_fault_is_called_so_where_the_kernel_says_it(interpreter, scratch):
    """A thread touches memory that userfaultfd never fills."""
    argv = interpreter.command(Path(scratch) / "targets" / "memory" / "traps.py", "silent")
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        if process.stdout.readline() == "done denied\n":
            pytest.skip("userfaultfd is denied here")
        said, = json.loads(succeeded(tachbpf("dump", "--json", process.pid)).stdout)["processes"]
    finally:
        kill(process)
    thread, = [t for t in said["threads"] if not t["main"]]
    wanted = ("io", "page fault") if kernel_marks_faults() else ("kernel", None)
    assert (thread["state"], thread["call"]) == wanted, thread
