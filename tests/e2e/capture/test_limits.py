# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Limits of the profiler itself: disks that are full, descriptors, memory. What is lost is counted,
what is written can be read, and one process does not end the others' recording."""
import contextlib
import json
import os
import re
import subprocess
import time

import pytest

import cgroups
from processes import family, kill, online_cpus
from recording import Recording, succeeded, tachbpf
from summary import tach_files
from target import Target

# ---- full disks ----

# The small disk lives in a mount namespace that ends with this shell, which copies what is there.
DISK = ('mount -t tmpfs -o size=$2 none "$0" || exit 99; kept=$1; shift 2; trap : INT; "$@"; '
        'status=$?; cp -r "$0" "$kept"; exit $status')


def on_disk(size, place, kept):
    return ["unshare", "--mount", "sh", "-c", DISK, str(place), str(kept), size]


@pytest.mark.parametrize("size", ["4k", "20k", "32k", "64k", "128k", "300k"])
def test_counts_on_a_full_disk_are_what_the_files_hold(scratch, python, out, oracle, size):
    disk, kept = out / "disk", out / "kept"
    disk.mkdir()
    with Target(python, scratch, "recycled=600") as one, \
            Target(python, scratch, "recycled=600", name="second") as two:
        one.go()
        two.go()
        finished = tachbpf("-p", f"{one.pid},{two.pid}", "-r", "10khz", "--compression", "none",
                           "-d", "60", "-o", disk / "all", "--json",
                           prefix=on_disk(size, disk, kept))
    assert finished.returncode == 1, repr(finished)
    assert "No space left" in finished.stderr, repr(finished)
    if not finished.stdout:     # no room for session.json at the beginning: nothing is left
        assert size in ("4k", "20k") and not (kept / "all").exists(), repr(finished)
        return
    session = json.loads((kept / "all" / "session.json").read_text())
    assert session["samples"] == finished.summary["samples"]
    assert session["lost"]["write"] + session["lost"]["no_file"] > 0
    profiles = {os.path.basename(p.path): p for p in oracle.load(*tach_files(kept / "all"))}
    assert sum(p.replayed for p in profiles.values()) == session["samples"]
    for row in session["processes"]:
        if row["file"]:
            assert profiles[row["file"]].replayed == row["samples"]
        else:
            assert not row["samples"]


def test_a_named_file_on_a_full_disk_has_its_json(scratch, python, out, oracle):
    disk, kept = out / "disk", out / "kept"
    disk.mkdir()
    with Target(python, scratch, "recycled=600") as target:
        target.go()
        finished = tachbpf("-p", target.pid, "-r", "10khz", "--compression", "none", "-d", "60",
                           "--no-source", "-o", disk / "x.tach", prefix=on_disk("256k", disk, kept))
    assert finished.returncode == 1, repr(finished)
    assert sorted(os.listdir(kept)) == ["x.tach", "x.tach.json"]
    profile, = oracle.load(kept / "x.tach")
    row, = json.loads((kept / "x.tach.json").read_text())["processes"]
    assert profile.replayed == row["samples"] > 0
    assert row["lost"]["write"] > 0


# ---- descriptors ----

WORK = ("import sys, time\nend = time.process_time() + 0.1\nwhile time.process_time() < end: pass\n"
        "print('done', flush=True)\nsys.stdin.read()\n")


@contextlib.contextmanager
def workers(python, count):
    """Pythons that wait for a line, work, say so and stay."""
    started = [subprocess.Popen(python.command("-c", "import sys\nsys.stdin.readline()\n" + WORK),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                start_new_session=True) for _ in range(count)]
    try:
        yield started
    finally:
        for process in started:
            kill(process)


def test_more_processes_than_descriptors(python, out, oracle):
    # what the profiler opens at its start, and eight descriptors more than it keeps free
    limit = 68 + 2 * online_cpus()
    with workers(python, 40) as started:
        with Recording(["-p", ",".join(str(p.pid) for p in started), "-r", "999", "--json",
                        "-o", out / "all"],
                       prefix=["sh", "-c", f'ulimit -n {limit}; exec "$0" "$@"']) as recording:
            recording.wait_recording()
            for process in started:
                process.stdin.write("go\n")
                process.stdin.flush()
            for process in started:
                assert process.stdout.readline() == "done\n"
            finished = succeeded(recording.stop())
    rows = finished.summary["processes"]
    assert len(rows) == 40 and not [row for row in rows if row.get("error")]
    assert not finished.summary["processes_lost"] and not finished.summary["lost"]["no_file"]
    files = {row["file"]: row["samples"] for row in rows}
    assert len(files) == 40
    for profile in oracle.load(*tach_files(out / "all")):
        assert profile.replayed == files[os.path.basename(profile.path)] > 0


BROOD = """
import os, sys, time
for _ in range(2000):
    if not os.fork():
        time.sleep(3600)
print("ready", flush=True)
sys.stdin.read()
"""


def test_two_thousand_idle_processes_and_few_descriptors(python, out, oracle):
    """They share files, whoever was never on a CPU; descriptors are bounded; no sample is lost for it."""
    parent = subprocess.Popen(python.command("-S", "-c", BROOD), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert parent.stdout.readline() == "ready\n"
        # the waits that are open become samples every ten seconds, and at the end
        with Recording(["-m", "wall", "-r", 19, "-p", parent.pid, "--children", "--json", "-o", out / "p"],
                       prefix=["sh", "-c", 'ulimit -n 256; exec "$0" "$@"']) as recording:
            recording.wait_recording()
            time.sleep(13)
            open_files = len(os.listdir(f"/proc/{recording.process.pid}/fd"))
            finished = succeeded(recording.stop())
    finally:
        kill(parent)
    summary = finished.summary
    assert not summary["processes_lost"] and not summary["lost"]["no_file"]
    assert not summary["lost"]["write"]
    assert open_files < 256
    assert sum(row.get("merged", 1) for row in summary["processes"]) >= 2001
    rows = [row for row in summary["processes"] if row["file"]]
    assert sum(len(row.get("members", ())) for row in rows) > 1000
    assert len(rows) < 200, len(rows)
    for profile in oracle.load(*tach_files(out / "p")):
        row, = [r for r in rows if r["file"] == os.path.basename(profile.path)]
        assert profile.replayed == row["samples"]


JOBS = 60
# Each is another program, so each has a file of its own, which other processes of that program would share.
MANY_JOBS = f"""
import os, subprocess, sys
for i in range({JOBS}):
    job = os.path.join(sys.argv[1], f"job{{i}}.py")
    with open(job, "w") as f:
        f.write("for i in range(200000): pass")
    subprocess.run([sys.executable, "-S", "-E", job], check=True)
print("done", flush=True)
sys.stdin.read()
"""


def descriptors(pid):
    """Of the profiler and all its workers."""
    return sum(len(os.listdir(f"/proc/{one}/fd")) for one in family(pid))


def test_descriptors_do_not_follow_the_dead(python, scratch, out):
    """Eight files that processes share are open, of two descriptors, and none for a process that has ended."""
    jobs = subprocess.Popen(python.command("-S", "-c", MANY_JOBS, scratch), stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        with Recording(["-p", jobs.pid, "--children", "-r", 999, "--json", "-o", out / "p"]) as recording:
            recording.wait_recording()
            before = descriptors(recording.process.pid)
            assert jobs.stdout.readline() == "done\n"
            after = descriptors(recording.process.pid)
            summary = succeeded(recording.stop()).summary
    finally:
        kill(jobs)
    shared = [row for row in summary["processes"] if row.get("merged") and row["file"]]
    assert len(shared) >= JOBS / 2      # a slow one has lived for a second, and has its own
    # a worker may have started meanwhile
    assert after <= before + 8 * 2 + 8, (before, after)


# ---- memory ----

@pytest.fixture
def limited():
    """Runs the profiler in a cgroup with so much memory, if there is a memory controller here."""
    mount = cgroups.memory()
    if not mount:
        pytest.skip("no cgroup hierarchy with the memory controller can be written to")
    with cgroups.Tree(mount) as tree:
        def run(mebibytes, *argv):
            directory = tree.make(f"{mebibytes}M")
            cgroups.limit_memory(directory, mebibytes << 20)
            return tachbpf(*argv, prefix=cgroups.enter(directory, []))
        yield run


def test_too_low_a_memory_limit_is_an_error_and_no_kill(limited, out):
    finished = limited(20, "-a", "-d", "1", "-o", out / "all")
    assert finished.returncode == 1, repr(finished)
    line, = finished.stderr.splitlines()
    assert "memory limit" in line and "20 MiB" in line and "are needed" in line, line
    assert not (out / "all").exists()


def test_a_lower_memory_limit_gives_a_smaller_ring_buffer(limited, scratch, python, out):
    needed = limited(20, "-a", "-d", "1", "-r", "10khz", "-o", out / "all").stderr
    least = int(re.search(r"(\d+) MiB are needed", needed)[1])
    with Target(python, scratch, "shares=600") as target:
        target.go()
        # room for the least ring buffer, and more than its size again, which doubles
        finished = limited(least + 3, "-p", target.pid, "-d", "1", "-r", "10khz", "-o",
                           out / "x.tach")
    assert finished.returncode == 0, repr(finished)
    assert (out / "x.tach").stat().st_size
    if online_cpus() > 1:
        assert "ring buffer" in finished.stderr, repr(finished)
