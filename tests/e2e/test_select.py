# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Choosing processes: exactly those that meet the conditions, nothing of any other, at any time."""
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import cgroups
import noise
from e2e_fixtures import absent
from grouping import same_worker
from harness import (Recording, files, kill, lost_once_known, owners, succeeded, tachbpf, use_cpu)

# Tests with the same container's name, the same user or the same program would see each other.
SAME_NAMES, SAME_USERS, SAME_PROGRAMS = map(same_worker, ("names", "users", "programs"))

RATE = 999
PATIENCE_S = 300        # a safety net
NOBODY = 65534
DAEMON = 1
# "ready" when it can be looked at, works from a line on stdin on, ends with stdin
BURN = "import sys\nprint('ready', flush=True)\nsys.stdin.readline()\nwhile True: pass\n"
# works for as long and says how much CPU time it had; to a file, if the second argument names one
WORK = """
import sys, time
def work():
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end: pass
work()
"""


class Burner:
    """A busy Python, started by some command line before its own."""

    running = {}        # pid -> Burner

    def __init__(self, python, prefix=(), code=BURN, argv0=None):
        command = python.command("-c", code) if argv0 is None else [argv0, "-c", code]
        self.process = subprocess.Popen([*map(str, prefix), *map(str, command)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)

    def __enter__(self):
        try:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
            assert ready and self.process.stdout.readline() == "ready\n"
        except BaseException:
            kill(self.process)
            raise
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self.running[self.pid] = self
        return self

    def __exit__(self, *_):
        del self.running[self.pid]
        kill(self.process)

    @property
    def pid(self):
        return self.process.pid


@pytest.fixture(params=list(cgroups.HIERARCHIES))
def tree(request):
    """Cgroups in v2, and in v1 where this host has it."""
    mount = cgroups.HIERARCHIES[request.param]()
    if not mount:
        pytest.skip(f"no {request.param} hierarchy is mounted here")    # most hosts have one only
    with cgroups.Tree(mount) as made:
        yield made


@pytest.fixture
def v2():
    mount = cgroups.v2()
    if not mount:
        absent("no cgroup v2 is mounted")
    with cgroups.Tree(mount) as made:
        yield made


def accounts():
    return {pid: noise.account(pid) for pid in Burner.running}


def record(out, *argv, seconds=0.6):
    """The summary, and in it under "accounts" what the scheduler gave each burner meanwhile."""
    out.mkdir(exist_ok=True)
    with Recording([*argv, "-r", RATE, "-d", seconds, "-o", out / "x", "--json"]) as recording:
        recording.wait_recording()
        before = accounts()
        summary = succeeded(recording.wait()).summary
    after = accounts()
    summary["accounts"] = {pid: after[pid] - before[pid] for pid in before if pid in after}
    return summary


def recorded(summary):
    """pid -> samples of all that is in the files, merged ones included."""
    seen = {}
    for process in summary["processes"]:
        for member in process.get("members") or [process]:
            if member["samples"]:
                seen[member["pid"]] = seen.get(member["pid"], 0) + member["samples"]
    return seen


def away(summary):
    """Ticks of which there is no sample: missed, or lost with a cause that is counted."""
    return noise.missed(summary) + summary["lost_total"]


def expect(summary, *burners, others=True):
    """Samples of these and of nobody else. others: some ran that were not to be recorded.

    Who had too little of a CPU for a sample to be certain may have none; if that is everyone,
    nothing was tested, and a skip says so."""
    seen, given = recorded(summary), summary["accounts"]
    surely = {b.pid for b in burners
              if b.pid not in given or noise.least(given[b.pid].cpu_s, RATE, away(summary))}
    assert surely <= set(seen) <= {b.pid for b in burners}, (seen, given)
    assert not others or summary["ticks"]["unselected"] > 0
    assert not lost_once_known(summary), lost_once_known(summary)
    if burners and not surely:
        pytest.skip(f"the machine had no CPU for any of these: {given}")


# ---- cgroups ----

def test_a_cgroup_and_all_below_it(tree, python, out):
    inside, below, beside = tree.make("in"), tree.make("in", "deep", "er"), tree.make("inside")
    with contextlib.ExitStack() as stack:
        a, b, _ = [stack.enter_context(Burner(python, cgroups.enter(d, [])))
                   for d in (inside, below, beside)]
        expect(record(out, "--cgroup", tree.path(inside)), a, b)


@pytest.mark.parametrize("spell", ["mount", "relative", "slash"])
def test_ways_to_name_a_cgroup(tree, python, out, spell):
    inside, beside = tree.make("in"), tree.make("out")
    path = {"mount": inside, "relative": tree.path(inside)[1:], "slash": tree.path(inside) + "/"}
    with Burner(python, cgroups.enter(inside, [])) as a, \
            Burner(python, cgroups.enter(beside, [])):
        expect(record(out, "--cgroup", path[spell]), a)


def test_a_path_of_one_hierarchy_is_not_that_of_another(python, out):
    one, other = cgroups.v1(), cgroups.v2()
    if not one or not other:
        pytest.skip("this host has not both kinds of hierarchies")
    with cgroups.Tree(one) as v1, cgroups.Tree(other) as v2:
        v2.top.rmdir()
        v2.top = v2.mount / v1.top.name
        v2.top.mkdir()
        with Burner(python, cgroups.enter(v1.top, [])) as a, \
                Burner(python, cgroups.enter(v2.top, [])) as b:
            expect(record(out / "1", "--cgroup", v1.top), a)
            expect(record(out / "2", "--cgroup", v2.top), b)
            expect(record(out / "3", "--cgroup", v1.path(v1.top)), a, b,
                   others=False)


def test_several_cgroups_but_not_one_below(tree, python, out):
    one, two, apart = tree.make("one"), tree.make("two"), tree.make("two", "apart")
    with contextlib.ExitStack() as stack:
        a, b, _ = [stack.enter_context(Burner(python, cgroups.enter(d, [])))
                   for d in (one, two, apart)]
        expect(record(out, "--cgroup", tree.path(one), "--cgroup", tree.path(two),
                      "--exclude-cgroup", tree.path(apart)), a, b)


def test_all_but_a_cgroup(tree, python, out):
    with Burner(python, cgroups.enter(tree.make("in"), [])) as a, Burner(python) as b:
        seen = recorded(record(out, "--exclude-cgroup", tree.path(tree.top)))
        assert a.pid not in seen and b.pid in seen


def run_in(directory, python, seconds):
    return subprocess.Popen(cgroups.enter(directory, python.command("-c", WORK, seconds)),
                            stdout=subprocess.PIPE, text=True, start_new_session=True)


def cpu_of(process):
    """CPU seconds of a child that has ended."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


@pytest.fixture
def recording(out):
    """Starts one with conditions; it is under way when this returns."""
    with contextlib.ExitStack() as stack:
        def start(*argv):
            args = [*argv, "-r", RATE, "-o", out / "x", "--json", "--split", "all"]
            return stack.enter_context(Recording(args)).wait_recording()
        yield start


def working(summary, oracle):
    """pid -> samples in work()."""
    seen = {}
    for pid, sample in owners(summary, oracle):
        if any(f.func == "work" for f in sample.frames):
            seen[pid] = seen.get(pid, 0) + 1
    return seen


def test_processes_and_cgroups_that_appear_later(tree, python, recording, oracle):
    inside, outside = tree.make("in"), tree.make("out")
    tree.make("in", "old")
    under_way = recording("--cgroup", tree.path(inside))
    owed = {}
    others = [run_in(outside, python, 0.4), run_in(tree.make("out", "new"), python, 0.4)]
    for directory in (inside, inside / "old", tree.make("in", "new"), tree.make("in", "a", "b")):
        process = run_in(directory, python, 0.4)
        owed[process.pid] = cpu_of(process)
    for process in others:
        cpu_of(process)
    summary = succeeded(under_way.stop()).summary
    seen = working(summary, oracle)
    assert set(recorded(summary)) == set(owed)
    for pid, cpu in owed.items():           # 0.4 s in work(), and some start-up
        assert seen[pid] >= noise.least(0.4, RATE, away(summary)), (seen, owed)
    assert not lost_once_known(summary)


def test_a_cgroup_that_is_made_later(tree, python, recording, oracle):
    later = tree.top / "later"
    under_way = recording("--cgroup", tree.path(later))
    other = run_in(tree.make("other"), python, 0.3)
    process = run_in(tree.make("later"), python, 0.5)
    below = run_in(tree.make("later", "below"), python, 0.5)
    for one in (other, process, below):
        cpu_of(one)
    finished = succeeded(under_way.stop())
    assert "there is no cgroup" in finished.stderr
    assert set(recorded(finished.summary)) == {process.pid, below.pid}
    assert all(n >= noise.least(0.5, RATE, away(finished.summary))
               for n in working(finished.summary, oracle).values())


def test_gone_within_a_second_and_complete(v2, python, recording, oracle):
    """A container's life in short: its cgroup is made, it runs for 200 ms, its cgroup goes."""
    under_way = recording("--cgroup", v2.path(v2.top))
    pids = []
    for n in range(10):
        directory = v2.make(f"container{n}")
        process = run_in(directory, python, 0.2)
        pids.append(process.pid)
        cpu_of(process)
        cgroups.remove(directory)
    summary = succeeded(under_way.stop()).summary
    seen = working(summary, oracle)
    assert set(recorded(summary)) == set(pids)
    assert set(seen) == set(pids)
    assert sum(seen.values()) >= noise.least(len(pids) * 0.2, RATE, away(summary)), seen


def test_a_process_that_moves(tree, python, out):
    inside, outside = tree.make("in"), tree.make("out")
    with Burner(python, cgroups.enter(outside, [])) as mover, \
            Burner(python, cgroups.enter(inside, [])) as leaver:
        with Recording(["--cgroup", tree.path(inside), "-r", RATE, "-o", out / "x",
                        "--json"]) as under_way:
            under_way.wait_recording()
            use_cpu(leaver.pid, 0.1)            # the interval in which one is in and one is not
            (inside / "cgroup.procs").write_text(str(mover.pid))
            (outside / "cgroup.procs").write_text(str(leaver.pid))
            moved_us = time.monotonic_ns() / 1000
            use_cpu(mover.pid, 0.1)
            summary = succeeded(under_way.stop()).summary
    ours = {f["pid"]: f for f in files(summary)}
    assert set(ours) == {mover.pid, leaver.pid}
    start = summary["start_monotonic_us"] / 1e6
    assert ours[mover.pid]["begin_s"] >= moved_us / 1e6 - start - 0.05
    assert all(f["samples"] > 0 for f in ours.values())


def test_the_samples_of_one_that_leaves_end_there(v2, python, out, oracle):
    inside, outside = v2.make("in"), v2.make("out")
    with Burner(python, cgroups.enter(inside, [])) as leaver:
        with Recording(["--cgroup", v2.path(inside), "-r", RATE, "-o", out / "x",
                        "--json"]) as under_way:
            under_way.wait_recording()
            use_cpu(leaver.pid, 0.2)            # the interval that is recorded
            (outside / "cgroup.procs").write_text(str(leaver.pid))
            left_us = time.monotonic_ns() / 1000
            time.sleep(0.3)
            summary = succeeded(under_way.stop()).summary
    profile, = oracle.load(files(summary)[0]["path"])
    assert profile.samples
    assert max(s.time_us for s in profile.samples) <= left_us


# ---- names of containers, pods and units, by the shape of their cgroups' paths ----

ID = "0123456789abcdef" * 4
OTHER = "fedcba9876543210" * 4
POD = "11111111-2222-3333-4444-555555555555"
SHAPES = [
    (["--container", ID[:8]], ["docker", ID], ["docker", OTHER]),
    (["--container", ID], ["system.slice", f"docker-{ID}.scope"],
     ["system.slice", f"docker-{OTHER}.scope"]),
    (["--container", ID[:12]], ["machine.slice", f"libpod-{ID}.scope", "container"],
     ["machine.slice", f"libpod-conmon-{ID}.scope"]),
    (["--container", ID[:12]], ["libpod_parent", f"libpod-{ID}"],
     ["libpod_parent", f"libpod-{OTHER}"]),
    (["--pod", POD], ["kubepods", "burstable", f"pod{POD}", ID],
     ["kubepods", "burstable", "pod" + POD.replace("1", "9"), OTHER]),
    (["--pod", POD, "--container", ID],
     ["kubepods.slice", "kubepods-besteffort.slice",
      f"kubepods-besteffort-pod{POD.replace('-', '_')}.slice", f"cri-containerd-{ID}.scope"],
     ["kubepods.slice", "kubepods-besteffort.slice",
      f"kubepods-besteffort-pod{POD.replace('-', '_')}.slice", f"cri-containerd-{OTHER}.scope"]),
    (["--unit", "nginx"], ["system.slice", "nginx.service"], ["system.slice", "nginx.socket"]),
    (["--unit", "nginx"], ["system.slice", "nginx.service", "worker"],
     ["system.slice", "nginx2.service"]),
    (["--unit", "user-*.slice"], ["user.slice", "user-7.slice", "session-1.scope"],
     ["user.slice"]),
    (["--exclude-container", OTHER, "--cgroup", "TOP"], ["docker", ID], ["docker", OTHER]),
    (["--exclude-unit", "cron", "--cgroup", "TOP"], ["system.slice", "nginx.service"],
     ["system.slice", "cron.service"]),
]


@SAME_NAMES
@pytest.mark.parametrize("argv,inside,outside", SHAPES,
                         ids=[f"{n}-{'-'.join(a)[2:24]}" for n, (a, _, _) in enumerate(SHAPES)])
def test_by_the_shape_of_a_path(tree, python, recording, out, oracle, argv, inside, outside):
    """Those that are there already, and those whose cgroup is made while we record."""
    argv = [tree.path(tree.top) if a == "TOP" else a for a in argv]
    here, there = tree.make("a", *inside), tree.make("a", *outside)
    with Burner(python, cgroups.enter(here, [])) as a, \
            Burner(python, cgroups.enter(there, [])):
        under_way = recording(*argv)
        later = run_in(tree.make("b", *inside), python, 0.3)
        other = run_in(tree.make("b", *outside), python, 0.3)
        cpu_of(other)
        cpu_of(later)
        summary = succeeded(under_way.stop()).summary
    seen = recorded(summary)
    assert set(seen) == {a.pid, later.pid}, seen
    # Where user space is asked, the first ticks may come before it has answered: that is said.
    assert working(summary, oracle)[later.pid] >= noise.least(0.3, RATE, away(summary)), \
        summary["lost"]


@pytest.mark.parametrize("argv,what", [
    (["--container", "no-such-one"], "container 'no-such-one'"),
    (["--pod", "no-such-one"], "pod 'no-such-one'"), (["--unit", "nothing"], "unit 'nothing'"),
    (["--cgroup", "/no/such"], "cgroup '/no/such'")])
def test_what_is_not_there_is_said_and_waited_for(v2, python, out, argv, what):
    with Burner(python, cgroups.enter(v2.make("docker", ID), [])), \
            Burner(python, cgroups.enter(v2.make("x.service"), [])):
        finished = succeeded(tachbpf(*argv, "-d", "0.3", "-o", out / "x", "--json"))
    assert f"there is no {what} now" in finished.stderr
    if argv[0] == "--container":
        assert ID[:12] in finished.stderr       # what there is
    if argv[0] == "--unit":
        assert "x.service" in finished.stderr
    assert not recorded(finished.summary)


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
        deadline = time.monotonic() + PATIENCE_S
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
                deadline = time.monotonic() + PATIENCE_S
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
        finished = succeeded(tachbpf("-p", root.pid, "--uid", "nobody", "-d", "0.5", "-o",
                                     out / "4", "--json"))
        assert "does not meet the other conditions" in finished.stderr
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
            process.wait(PATIENCE_S)
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
