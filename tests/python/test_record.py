# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""record(): this very process, from the first line of the block to its last."""
import asyncio
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
import tachbpf
from recorded import (PRELUDE, SAMPLES, TIMEOUT, in_thread, needs_root, run_script, totals, verified, wait_until)
from tachbpf import _record
from tachbpf._program import find
from work import busy_work, other_work

NOBODY = 65534


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.tach"


# ---- the block ----


@needs_root
def test_the_block_and_nothing_else(path):
    """Sampling has begun when the block begins: a block as short as this has its samples."""
    other_work()
    with tachbpf.record(path) as r:
        assert "recording" in repr(r)
        busy_work()
    other_work()
    assert r.path == path and verified(path)
    assert totals(path)["busy_work"] > SAMPLES
    assert "other_work" not in totals(path)


@needs_root
def test_threads_and_modes(path):
    """All threads, options by their names; a recording of that name is only replaced with force."""
    with tachbpf.record(path):
        busy_work(0.05)
    with pytest.raises(tachbpf.Error, match="--force"), tachbpf.record(path):
        pass
    waits = threading.Event()
    with tachbpf.record(path, mode="wall", rate=499, force=True, min_wait="1ms"):
        thread = threading.Thread(target=waits.wait, name="waiter")
        thread.start()
        in_thread(busy_work)
        waits.set()
        thread.join()
    found = totals(path)
    assert found["busy_work"] > SAMPLES and found["Event.wait" if "Event.wait" in found else "wait"] > SAMPLES


@needs_root
def test_an_exception_passes_and_the_file_is_kept(path):
    with pytest.raises(ZeroDivisionError), tachbpf.record(path):
        busy_work()
        print(1 / 0)
    assert totals(path)["busy_work"] > SAMPLES


@needs_root
def test_an_exception_counts_more_than_a_failed_recording(path):
    """Both are told: the recorder was killed, and its file is for `recover`."""
    with pytest.warns(RuntimeWarning, match="was not recorded"), pytest.raises(ZeroDivisionError):
        with tachbpf.record(path) as r:
            r._process.kill()
            print(1 / 0)
    with pytest.raises(tachbpf.Error, match="ended with status -9"), tachbpf.record(path, force=True) as r:
        r._process.kill()


@needs_root
def test_whatever_the_recorder_prints(path):
    """The summary as JSON may be larger than a pipe; nobody reads it."""
    with tachbpf.record(path, json=True, duration=0.05) as r:
        r._process.wait(TIMEOUT)        # by itself
    assert verified(path)


@needs_root
def test_stop(path):
    with tachbpf.record(path) as r:
        busy_work()
        r.stop()
        assert totals(path)["busy_work"] > SAMPLES
        other_work()
        r.stop()
    assert "other_work" not in totals(path)


@needs_root
def test_a_relative_path_is_of_the_directory_at_the_start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with tachbpf.record("y.tach") as r:
        os.chdir("/")
        busy_work(0.05)
    assert r.path == tmp_path / "y.tach" and verified(r.path)


@needs_root
def test_children_are_a_directory(tmp_path):
    with tachbpf.record(tmp_path / "all", children=True):
        run_script("busy_work()")
        busy_work()
    assert sum(count for name, count in totals(tmp_path / "all").items() if name == "busy_work") > 2 * SAMPLES


@needs_root
def test_decorator(tmp_path):
    """Each call is a recording; of a coroutine function, until it has returned."""
    @tachbpf.record(tmp_path / "sync.tach", force=True)
    def work(n):
        busy_work()
        return n

    @tachbpf.record(tmp_path / "async.tach")
    async def awaited(n):
        await asyncio.sleep(0)
        busy_work()
        return n

    assert [work(1), work(2)] == [1, 2] and work.__name__ == "work"
    assert asyncio.run(awaited(3)) == 3
    assert totals(tmp_path / "sync.tach")["busy_work"] > SAMPLES
    assert totals(tmp_path / "async.tach")["busy_work"] > SAMPLES
    with pytest.raises(TypeError, match="generator"):
        @tachbpf.record(tmp_path / "z.tach")
        def generator():
            yield


# ---- processes that fork, end, are interrupted ----


@needs_root
def test_a_forked_child_does_not_end_it(path):
    """A child leaves the block, and its copy of the recorder's pipes stays open: both mean nothing."""
    script = """
release, hold = os.pipe()
with tachbpf.record(sys.argv[1]) as r:
    child = os.fork()
    if not child:
        r.stop()
if not child:
    os.close(hold)
    os.read(release, 1)     # until the parent has ended its recording
    os._exit(0)
with tachbpf.record(sys.argv[2]):
    second = os.fork()
    if not second:
        os._exit(0)
    os.waitpid(second, 0)
    busy_work()
os.close(hold)
os.waitpid(child, 0)
"""
    run_script(script, path, path.with_name("second.tach"))
    assert verified(path) and totals(path.with_name("second.tach"))["busy_work"] > SAMPLES


@needs_root
def test_the_recorder_ends_with_the_interpreter(path):
    """Killed, it leaves a complete file, and no recorder."""
    script = PRELUDE + "r = tachbpf.record(sys.argv[1]); r.start(); print(r._process.pid, flush=True); busy_work(); os.kill(os.getpid(), 9)"
    killed = subprocess.run([sys.executable, "-c", script, path], stdout=subprocess.PIPE, check=False, timeout=TIMEOUT)
    assert killed.returncode == -signal.SIGKILL
    recorder = Path(f"/proc/{int(killed.stdout)}/stat")
    wait_until(lambda: not recorder.exists() or recorder.read_text().rpartition(")")[2].split()[0] == "Z", "the recorder ends")
    assert verified(path) and totals(path)["busy_work"] > SAMPLES


@needs_root
def test_ctrl_c_is_the_programs(path):
    """A program that goes on after Ctrl-C on its terminal is recorded further."""
    script = PRELUDE + """
with tachbpf.record(sys.argv[1]):
    try:
        print("ready", flush=True)
        threading.Event().wait()
    except KeyboardInterrupt:
        busy_work()
"""
    pid, terminal = pty.fork()
    if not pid:
        os.execv(sys.executable, [sys.executable, "-c", script, str(path)])
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    status = os.waitpid(pid, 0)[1]
    os.close(terminal)
    assert status == 0 and totals(path)["busy_work"] > SAMPLES


# ---- where it may not record ----


def without_rights(directory, script, path, **env):
    """Runs a script as nobody, with the package where nobody can read it."""
    package = directory / "package"
    shutil.copytree(Path(tachbpf.__file__).parent, package / "tachbpf")
    program = directory / "tachbpf"
    shutil.copy(find(), program)
    return subprocess.run([shutil.which("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                           "/usr/bin/python3", "-c", script, str(path)], cwd=directory,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=TIMEOUT,
                          env={"PATH": "/usr/bin:/bin", **env, "TACHBPF": str(program), "PYTHONPATH": str(package)})


SHORT = "import sys, tachbpf\nwith tachbpf.record(sys.argv[1]): print('recorded')"


@pytest.fixture
def public():
    """A directory that others can enter, with one in which nobody may write."""
    with tempfile.TemporaryDirectory(prefix="tachbpf-record-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        (directory / "out").mkdir()
        if os.geteuid() == 0:
            os.chown(directory / "out", NOBODY, NOBODY)
        yield directory


def can_become_nobody():
    return os.geteuid() == 0 and shutil.which("setpriv") and os.access("/usr/bin/python3", os.X_OK)


becomes = pytest.mark.skipif(not can_become_nobody(), reason="needs root, setpriv and /usr/bin/python3: it becomes nobody")


@becomes
@pytest.mark.parametrize("sudo, why", [
    (None, "there is no sudo"),
    ("echo 'sudo: a password is required' >&2; exit 1", "sudo: a password is required"),
    ("echo \"Sorry, user nobody is not allowed to execute '$*' as root\" >&2; exit 1", "Sorry, user nobody is not allowed"),
])
def test_without_rights_the_remedy_is_told(public, sudo, why):
    """Never a prompt: `sudo -n`, and standard input is not the terminal."""
    bin_dir = public / "bin"
    bin_dir.mkdir()
    if sudo:
        (bin_dir / "sudo").write_text(f"#!/bin/sh\n[ \"$1 $2\" = '-n --' ] || exit 99\n{sudo}\n")
        (bin_dir / "sudo").chmod(0o755)
    done = without_rights(public, SHORT, public / "out" / "x.tach", PATH=str(bin_dir) + (":/usr/bin:/bin" if sudo else ""))
    assert done.returncode == 1 and "recorded" not in done.stdout
    message = done.stderr.strip().splitlines()[-1]
    assert "tachbpf._program.Error" in message or "tachbpf.Error" in message
    assert why in message and "run this program as root" in message and "setcap" in message


@becomes
def test_with_sudo_the_file_is_the_users(public):
    """The real sudo, with a rule of its own, in a mount namespace of its own."""
    if not shutil.which("sudo"):
        pytest.skip("there is no sudo")
    sudoers = public / "sudoers"
    sudoers.write_text(f"nobody ALL=(root) NOPASSWD: {public}/tachbpf\n")
    sudoers.chmod(0o440)
    done = subprocess.run(["unshare", "--mount", sys.executable, "-c", SUDO, str(public), str(sudoers)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=TIMEOUT,
                          env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    assert done.returncode == 0, done.stdout
    made = public / "out" / "x.tach"
    assert verified(made) and {p.stat().st_uid for p in (public / "out").iterdir()} == {NOBODY}


SUDO = """
import subprocess, sys
from pathlib import Path
public, sudoers = map(Path, sys.argv[1:])
subprocess.run(["mount", "--bind", sudoers, "/etc/sudoers"], check=True)
import test_record
done = test_record.without_rights(public, test_record.SHORT, public / "out" / "x.tach")
assert done.returncode == 0 and done.stdout == "recorded\\n", done.stderr
"""


@becomes
@needs_root
def test_as_root_under_sudo_all_files_are_the_users(public):
    """`sudo python3 app.py`: also the regions, which this process writes itself."""
    script = "with tachbpf.record(sys.argv[1]), tachbpf.region('a'): busy_work(0.05)"
    run_script(script, public / "out" / "x.tach", env=dict(os.environ, SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY)))
    made = sorted(p.name for p in (public / "out").iterdir())
    assert "x.tach" in made and "x.tach.regions.json" in made
    assert {(p.stat().st_uid, p.stat().st_mode & 0o777) for p in (public / "out").iterdir()} == {(NOBODY, 0o600)}


def test_a_wrong_option_is_told(path):
    """By the program itself, before it needs any right."""
    if os.geteuid():
        pytest.skip("needs root: sudo would be asked first")
    with pytest.raises(tachbpf.Error, match="no-such-option"), tachbpf.record(path, no_such_option=True):
        pass
    assert not path.exists()


def test_arguments():
    """The names of options become those of the command line."""
    assert _record._arguments({"mode": "wall", "native": True, "rate": None, "force": False, "async_": True, "min_wait": "1ms",
                               "exclude_name": ["a", "b"], "count": 3}) == [
        "--mode=wall", "--native", "--async", "--min-wait=1ms", "--exclude-name=a", "--exclude-name=b", "--count=3"]
