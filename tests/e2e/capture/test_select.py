# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Choosing processes by user, name, pid and age: exactly those that fit, at any time."""
import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import cgroups
import noise
from grouping import same_worker
from present import absent
from processes import TIMEOUT, kill, use_cpu
from recording import Recording, succeeded, tachbpf
from selecting import RATE, WORK, Burner, away, cpu_of, expect, record, recorded, working
from summary import files

# Tests with the same user or the same program would see each other.
SAME_USERS, SAME_PROGRAMS = map(same_worker, ("users", "programs"))
NOBODY = 65534
DAEMON = 1


# ---- users ----

def as_user(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


@SAME_USERS
def test_a_user_by_name_and_by_number(python, out):
    with Burner(python) as root, Burner(python, as_user(NOBODY)) as nobody, \
            Burner(python, as_user(DAEMON)) as daemon:
        expect(record(out / "1", "--uid", "nobody"), nobody)
        expect(record(out / "2", "--uid", f"{NOBODY},daemon"), nobody, daemon)
        seen = recorded(record(out / "3", "--exclude-uid", "nobody", "--exclude-uid", DAEMON))
        assert root.pid in seen and not {nobody.pid, daemon.pid} & set(seen)


@SAME_USERS
def test_a_user_in_another_user_namespace(python, out):
    """It is root in there; what counts is who it is here."""
    inside = ["unshare", "--user", "--map-root-user"]
    with Burner(python) as root, Burner(python, as_user(NOBODY) + inside) as nobody:
        expect(record(out, "--uid", "nobody"), nobody)


SERVER = f"""
import os, sys
print('ready', flush=True)
sys.stdin.readline()
pid = os.fork()
if pid == 0:
    os.setuid({NOBODY})
    print(os.getpid(), flush=True)
while True: pass
"""


@SAME_USERS
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_server_that_gives_up_root(python, out, when):
    with Recording(["--uid", "nobody", "-r", RATE, "-o", out / "x", "--json"]) as under_way:
        if when == "meanwhile":
            under_way.wait_recording()
        with Burner(python, code=SERVER) as server:
            worker = int(server.process.stdout.readline())
            under_way.wait_recording()
            use_cpu(worker, 0.2)                # the interval that is recorded
            summary = succeeded(under_way.stop()).summary
    assert set(recorded(summary)) == {worker}


def test_an_unknown_user_is_a_usage_error(root):
    finished = tachbpf("--uid", "no-such-user")
    assert finished.returncode == 2
    assert "no such user" in finished.stderr


# ---- names ----

@pytest.fixture
def copies(scratch, python, out):
    """Executables of two names; the same file, so that only names tell them apart."""
    path = {}
    for name in ("alpha", "beta"):
        path[name] = out / name / "bin" / f"{name}-python"
        path[name].parent.mkdir(parents=True)
        shutil.copy("/usr/bin/python3.11", path[name])
    return path


@pytest.fixture
def static(python):
    if python.name != "system-3.11":
        absent("system-3.11 is not installed")
    return python


@SAME_PROGRAMS
def test_comm_and_exe(static, copies, out):
    with Burner(static, argv0=copies["alpha"]) as alpha, \
            Burner(static, argv0=copies["beta"]) as beta:
        expect(record(out / "1", "--comm", "alpha-python"), alpha)
        expect(record(out / "2", "--comm", "al*"), alpha)
        expect(record(out / "3", "--exe", "beta-*"), beta)
        expect(record(out / "4", "--exe", f"{out}/*/bin/*", "--exclude-comm", "beta*"), alpha)
        expect(record(out / "5", "--comm", "alpha*", "--comm", "beta*"), alpha, beta, others=False)
        expect(record(out / "6", "--exe", f"{out}/*", "--exclude-exe", copies["alpha"]), beta)
        seen = recorded(record(out / "7", "--exclude-comm", "alpha*"))
        assert alpha.pid not in seen and beta.pid in seen


@SAME_PROGRAMS
@pytest.mark.parametrize("argv", [["--comm", "alpha*"], ["--exe", "*/alpha/*"],
                                  ["--exclude-comm", "*[!n]", "--exclude-comm", "[!a]*"]])
def test_names_of_processes_that_start_later(static, copies, out, recording, oracle, argv):
    under_way = recording(*argv)
    pids = {name: [] for name in copies}
    for _ in range(5):
        both = {name: subprocess.Popen([path, "-c", WORK, "0.2"], start_new_session=True)
                for name, path in copies.items()}
        for name, process in both.items():
            cpu_of(process)
            pids[name].append(process.pid)
    summary = succeeded(under_way.stop()).summary
    seen = recorded(summary)
    assert set(pids["alpha"]) <= set(seen) and not set(pids["beta"]) & set(seen)
    found = working(summary, oracle)
    # The first ticks may come before user space has said what it thinks of a name.
    present = sum(found.get(pid, 0) for pid in pids["alpha"])
    assert present >= noise.least(5 * 0.2, RATE, away(summary))


# ---- pids, children, age ----

FORKS = """
import os, sys
print('ready', flush=True)
sys.stdin.readline()
os.fork() and os.fork()
while True: pass
"""
FAMILY = """
import os, subprocess, sys
subprocess.Popen([sys.executable, '-c', 'while True: pass'])
print('ready', flush=True)
sys.stdin.readline()
later = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
os.fork()
while True: pass
"""


def family_of(pid):
    """A process and its descendants."""
    found = [pid]
    for one in found:
        found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
    return set(found)


def test_a_pid_is_one_process_unless_children_are_asked_for(python, out):
    with Burner(python, code=FAMILY) as parent:
        deadline = time.monotonic() + TIMEOUT
        while len(family_of(parent.pid)) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        everyone = family_of(parent.pid)
        alone = succeeded(tachbpf("-p", parent.pid, "-r", RATE, "-d", 1, "-o", out / "1.tach",
                                  "--json")).summary
        assert set(recorded(alone)) == {parent.pid}
        also = succeeded(tachbpf("-p", parent.pid, "--no-children", "-r", RATE, "-d", 1, "-o",
                                 out / "2.tach", "--json")).summary
        assert set(recorded(also)) == {parent.pid}
        assert set(recorded(record(out / "3", "-p", parent.pid, "--children"))) == everyone
        rest = recorded(record(out / "4", "--exclude-pid", parent.pid, seconds=3))
        assert parent.pid not in rest and everyone - {parent.pid} <= set(rest)
        rest = recorded(record(out / "5", "--exclude-pid", parent.pid, "--children"))
        assert not everyone & set(rest)


def test_children_that_come_later(python, out):
    with Burner(python) as other:
        process = subprocess.Popen(python.command("-c", FAMILY), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            assert process.stdout.readline() == "ready\n"
            with Recording(["-p", process.pid, "--children", "-r", RATE, "-o", out / "x",
                            "--json"]) as under_way:
                under_way.wait_recording()
                process.stdin.write("go\n")
                process.stdin.flush()
                deadline = time.monotonic() + TIMEOUT
                while len(family_of(process.pid)) < 4:
                    assert time.monotonic() < deadline
                    time.sleep(0.01)
                everyone = family_of(process.pid)
                for pid in everyone:
                    use_cpu(pid, 0.1)           # the interval that is recorded
                summary = succeeded(under_way.stop()).summary
        finally:
            kill(process)
    seen = recorded(summary)
    assert set(seen) == everyone and other.pid not in seen


def test_a_command_without_its_children(python, out):
    code = WORK + "\nimport subprocess\nsubprocess.run([sys.executable, '-c', 'x = 0\\n' * 9 + " \
                  "'for i in range(5000000): x += i'])\n"
    summaries = {}
    for flag in ("--children", "--no-children"):
        argv = [flag, "-r", RATE, "-o", out / flag, "--json", "--split", "all", "--",
                *python.command("-c", code, "0.3")]
        summaries[flag] = recorded(succeeded(tachbpf(*argv)).summary)
    assert len(summaries["--children"]) == 2
    assert len(summaries["--no-children"]) == 1


@SAME_USERS
def test_pids_and_other_conditions(python, out):
    """Kinds must all be met, what is excluded is excluded."""
    with Burner(python, as_user(NOBODY)) as nobody, Burner(python) as root:
        both = f"{nobody.pid},{root.pid}"
        expect(record(out / "1", "-p", both, "--uid", "nobody"), nobody)
        expect(record(out / "2", "-p", both, "--exclude-uid", "nobody"), root)
        expect(record(out / "3", "-p", root.pid, "--uid", "root", "--uid", "nobody"), root)
        finished = tachbpf("-p", root.pid, "--uid", "nobody", "-d", "0.5", "-o", out / "4", "--json")
        assert finished.returncode == 3         # no Python that is meant was seen
        assert "does not match the other conditions" in finished.stderr
        assert not recorded(finished.summary)


@SAME_USERS
def test_conditions_on_a_command(python, out):
    code = ("import os, subprocess, sys\n" + WORK +
            f"\nif os.fork() == 0:\n os.setuid({NOBODY})\n work()\n os._exit(0)\nos.wait()\n")
    argv = ["--uid", "nobody", "-r", RATE, "-o", out / "x", "--json", "--split", "all", "--",
            *python.command("-c", code, "0.5")]
    summary = succeeded(tachbpf(*argv)).summary
    assert summary["selection"].startswith("--uid nobody -- ")
    assert len(recorded(summary)) == 1
    assert summary["samples"] >= noise.least(0.5, RATE, away(summary))


def test_young_processes_are_let_be(python, recording, oracle):
    under_way = recording("--min-age", "3s")
    with Burner(python) as old:
        born = time.monotonic()
        short = [subprocess.Popen(python.command("-c", WORK, "0.05"), start_new_session=True)
                 for _ in range(4)]
        young = []                              # those that did not live to be three seconds old
        for process in short:
            process.wait(TIMEOUT)
            young += [process.pid] * (time.monotonic() - born < 3)
        time.sleep(3.1)                         # it grows old
        use_cpu(old.pid, 0.2)
        summary = succeeded(under_way.stop()).summary
    seen = recorded(summary)
    assert young, "this machine is too busy to say anything"
    assert not set(young) & set(seen)
    mine = [f for f in files(summary) if f["pid"] == old.pid]
    assert mine and seen[old.pid] > 0
    profile, = oracle.load(mine[0]["path"])
    assert profile.samples


def test_no_sample_before_the_age(python, out, oracle):
    with Recording(["--min-age", "1.5", "-r", RATE, "-o", out / "x", "--json"]) as under_way:
        under_way.wait_recording()
        before_us = time.monotonic_ns() / 1000
        with Burner(python) as burner:
            time.sleep(1.6)                     # it grows old enough
            use_cpu(burner.pid, 0.2)            # the interval that is recorded
            summary = succeeded(under_way.stop()).summary
    mine, = [f for f in files(summary) if f["pid"] == burner.pid]
    profile, = oracle.load(mine["path"])
    assert profile.samples
    assert min(s.time_us for s in profile.samples) >= before_us + 1.5e6 - 1e4


# ---- what is not chosen ----

def test_nested_pid_namespaces(v2, python, out):
    """Three deep; the host's ids are those that are recorded."""
    inside, outside = v2.make("in"), v2.make("out")
    deep = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] * 3
    with Burner(python, cgroups.enter(inside, deep)) as a, \
            Burner(python, cgroups.enter(outside, deep)):
        innermost = max(family_of(a.pid))
        status = Path(f"/proc/{innermost}/status").read_text()
        summary = record(out, "--cgroup", v2.path(inside))
    ids = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[1:]
    assert len(ids) == 4
    seen = recorded(summary)
    assert set(seen) == {int(ids[0])}


def test_the_session_says_what_was_chosen(python, out):
    with Burner(python):
        summary = record(out, "--comm", "python*", "--exclude-uid", "nobody", "--min-age", "0.1",
                         seconds=0.3)
    wanted = "-a --comm python* --exclude-uid nobody --min-age 0.1"
    assert summary["selection"] == wanted
    assert json.loads((out / "x" / "session.json").read_text())["selection"] == wanted


@pytest.mark.truth      # other processes that come meanwhile are asked about, too
def test_forks_of_what_is_not_chosen_are_not_asked_about(v2, python, out):
    """Ticks in what is left out end in the kernel's table; user space is not asked each time."""
    outside = v2.make("out")
    with Burner(python, cgroups.enter(outside, []), code=FORKS):
        summary = record(out, "--cgroup", v2.path(v2.make("in")), seconds=2)
    assert not recorded(summary)
    ticks = summary["ticks"]
    assert ticks["unselected"] >= 500 and ticks["unknown"] <= 0.02 * ticks["unselected"], ticks
