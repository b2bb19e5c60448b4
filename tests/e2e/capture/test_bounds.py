# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a user's programs make without end takes bounded room, and none of others'. By counts."""
import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from bpf_objects import map_entries
from processes import TIMEOUT
from recording import Recording, succeeded
from summary import files

# bpf/abi.h, MAX_EXES / 8; user/target/file_cache.c, IMAGES_OPEN_OF_USER
EXES_OF_USER, OPEN_OF_USER = 512, 128
WORKERS, COPIES = 3, 200        # 600 executables, of one user who may have 512
ATTACKER, OTHER = 54321, 54322
THREADS = 20000

# Each turn is another executable: the same file, a byte longer. It cannot be written (ETXTBSY) while
# somebody reads in /proc of a process that has executed it and has just ended.
WORKER = """
import errno, subprocess, sys, time
copy, count = sys.argv[1], int(sys.argv[2])
def grow():
    try:
        with open(copy, "ab") as f:
            f.write(b"x")
        return True
    except OSError as error:
        if error.errno != errno.ETXTBSY:
            raise
for i in range(count):
    while not grow():
        time.sleep(0.001)
    subprocess.run([copy, "-S", "-c", "sum(range(100000))"], check=True)
print("done", flush=True)
"""
BUSY = """
import time
print("ready", flush=True)
end = time.process_time() + 1
while time.process_time() < end:
    sum(range(1000))
"""
SHORT_THREADS = """
import sys, threading, time
sys.stdin.readline()
for i in range({} // 50):
    group = [threading.Thread(target=time.sleep, args=(0.001,)) for j in range(50)]
    for t in group:
        t.start()
    for t in group:
        t.join()
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def place():
    """A directory in which everybody may make files and run them."""
    with tempfile.TemporaryDirectory(prefix="tachbpf-bounds-") as name:
        os.chmod(name, 0o1777)
        yield Path(name)


def copy_of(python, path, user):
    """python's executable, of that user."""
    found = subprocess.run(python.command("-c", "import sys; print(sys.executable, sys.prefix)"),
                           capture_output=True, text=True, check=True, timeout=TIMEOUT)
    executable, prefix = found.stdout.split()
    shutil.copyfile(os.path.realpath(executable), path)
    path.chmod(0o755)
    os.chown(path, user, user)
    return {"PYTHONHOME": prefix}


def start(argv, user, home):
    return subprocess.Popen([str(a) for a in argv], user=user, group=user, extra_groups=[],
                            env=home, cwd="/", text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)


def anonymous(pid):
    return 1024 * int(re.search(r"^RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(),
                                re.M)[1])


def open_files(pid, place):
    """How many files of that directory the profiler and its workers have open."""
    links = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(fd))
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(link.startswith(str(place)) for link in links) + \
        sum(open_files(c, place) for c in children)


def test_copies_of_python_without_end(python, place, out):
    """Three workers of a user run ever other Pythons; another user's new Python is profiled."""
    if python.root or python.kind != "static":
        pytest.skip("needs an interpreter that is one file")
    with contextlib.ExitStack() as stack:
        # not what other tests run meanwhile
        recording = stack.enter_context(Recording(["-a", "--uid", ATTACKER, "--uid", OTHER, "-r", 999,
                                                   "-o", out / "p", "--json"]))
        recording.wait_recording()
        pid = recording.process.pid
        before = map_entries(pid, "known_exes")
        workers = []
        for i in range(WORKERS):
            home = copy_of(python, place / f"copy{i}", ATTACKER)
            workers.append(start([*python.prefix, "-c", WORKER, place / f"copy{i}", COPIES],
                                 ATTACKER, home))
            stack.callback(workers[-1].kill)
        assert all(w.stdout.readline() == "done\n" for w in workers)
        exes, fds = len(map_entries(pid, "known_exes") - before), open_files(pid, place)
        home = copy_of(python, place / "new", OTHER)
        new = start([place / "new", "-S", "-c", BUSY], OTHER, home)
        stack.callback(new.kill)
        assert new.stdout.readline() == "ready\n"
        assert new.wait(TIMEOUT) == 0
        summary = succeeded(recording.stop()).summary
    print(f"known executables +{exes}, descriptors +{fds}")
    assert 0 < exes <= EXES_OF_USER
    assert 0 < fds <= OPEN_OF_USER
    its = [p for p in files(summary) if p["pid"] == new.pid]
    assert its and its[0]["samples"] > 0
    assert not [r for r in summary["refused"] if "different CPythons" in r["reason"]]


def test_short_threads_without_end(python, out):
    """Each of them had a sample, and what is kept is not as much as each one's last stack."""
    target = subprocess.Popen(python.command("-S", "-c", SHORT_THREADS.format(THREADS)), text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        with Recording(["-p", target.pid, "-m", "wall", "-r", 999, "-o", out / "p",
                        "--json"]) as recording:
            recording.wait_recording()
            before = anonymous(recording.process.pid)
            target.stdin.write("go\n")
            target.stdin.flush()
            assert target.stdout.readline() == "done\n"
            grown = anonymous(recording.process.pid) - before
            summary = succeeded(recording.stop()).summary
    finally:
        target.kill()
        target.communicate()
    threads = sum(p["threads"] for p in files(summary))
    print(f"{threads} threads, {grown / 1e6:.1f} MB")
    assert threads >= 0.9 * THREADS
    assert grown <= 32 << 20        # 5.4 KiB of each would be 110 MB
    assert summary["lost"]["waits_forgotten"] == 0
