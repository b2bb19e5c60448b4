# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bad input: one line that says what is wrong and what to do, and the right exit status."""
import os
import re
import select
import shutil
import signal
import subprocess

import pytest

from captures import GOLDEN
from paths import binary
from processes import TIMEOUT
from recording import Recording, succeeded, tachbpf
from summary import tach_files
from target import Target

CAPTURE = GOLDEN / "cpu_raw.bin"


def refused(finished, *words, status=1):
    """It failed with this status, in one line of stderr that has these words."""
    lines = [line for line in finished.stderr.splitlines() if line.strip()]
    assert finished.returncode == status, repr(finished)
    assert len(lines) == 1, repr(finished)
    for word in words:
        assert word.lower() in lines[0].lower(), repr(finished)
    return lines[0]


@pytest.fixture
def sleeper():
    """A process that is not Python."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def idle(scratch, python):
    """A Python process that waits."""
    with Target(python, scratch, "shares=600") as target:
        yield target


@pytest.fixture
def for_anyone(out):
    """A copy of the profiler that an unprivileged user can start."""
    out.chmod(0o755)
    copy = out / "tachbpf"
    shutil.copy(binary(), copy)
    copy.chmod(0o755)
    return copy


@pytest.fixture
def parent(python):
    """A process that is not Python and waits for its child, which is; and that child's pid."""
    child = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(600)"
    with subprocess.Popen(["sh", "-c", '"$@"; true', "sh", *python.prefix, "-c", child],
                          stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        yield process.pid, int(process.stdout.readline())
        os.killpg(process.pid, signal.SIGKILL)


def as_nobody(*argv):
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *map(str, argv)]


def test_without_privilege_it_names_the_capability_and_the_command(for_anyone):
    done = subprocess.run(as_nobody(for_anyone, "-a", "-d", "1"), capture_output=True, text=True,
                          timeout=TIMEOUT, cwd="/tmp")
    line = refused(done, "CAP_", f"sudo {for_anyone}")
    assert re.search(rf"`sudo setcap [a-z_,]+=ep {for_anyone}`", line)


@pytest.mark.parametrize("command", (["dump"], ["-d", "1", "-p"], ["top", "--once", "-p"]), ids=lambda c: c[0])
def test_a_parent_that_is_not_python_names_its_child(parent, command, out):
    """As of PyInstaller, whose programs start themselves again."""
    above, below = parent
    more = ["-o", out / "x.tach"] if command[0] == "-d" else []
    refused(tachbpf(*command, above, *more), f"process {above} is not Python",
            f"it started process {below} (python", "which is")


@pytest.mark.parametrize("command", (["ps"], ["dump", "1"], ["-d", "1", "-a"], ["top", "--once"]), ids=lambda c: c[0])
def test_without_proc(command, out):
    done = subprocess.run(["unshare", "-m", "sh", "-c", 'umount -l /proc && cd "$0" && exec "$@"', str(out), binary(),
                           *command], capture_output=True, text=True, timeout=TIMEOUT)
    refused(done, "/proc is not mounted here", "mount -t proc proc /proc")


@pytest.mark.parametrize("command", (["ps"], ["-d", "1", "-a"]), ids=lambda c: c[0])
def test_a_limit_of_file_sizes(command, out):
    """Memory that workers share counts as a file."""
    done = subprocess.run(["sh", "-c", 'ulimit -f 0; exec "$0" "$@"', binary(), *command], capture_output=True,
                          text=True, timeout=TIMEOUT, cwd=out)
    refused(done, "ulimit -f", "0 KiB", "raise it")


def test_closed_descriptors(scratch, python, out):
    """None of them becomes one of our files."""
    done = subprocess.run(["bash", "-c", 'exec <&- >&-; exec "$0" "$@"', binary(), "-o", out / "x.tach", "--",
                           *python.prefix, "-c", "sum(range(30_000_000))"],
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done
    assert "x.tach: 1 file, 1 process" in done.stderr


def test_the_command_it_names_is_enough(for_anyone, scratch, python, out, oracle):
    done = subprocess.run(as_nobody(for_anyone, "-a"), capture_output=True, text=True,
                          timeout=TIMEOUT)
    setcap = re.search(r"`sudo (setcap [^`]+)`", done.stderr).group(1)
    subprocess.run(setcap.split(), check=True, timeout=TIMEOUT)
    out.chmod(0o777)
    with Target(python, scratch, "shares=600") as target:
        target.go()
        done = subprocess.run(as_nobody(for_anyone, "-p", target.pid, "-d", "1", "-o",
                                        out / "x.tach"),
                              capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    assert oracle.load(out / "x.tach")[0].samples


def test_cycles_are_sampled_or_refused_with_a_remedy(idle, out):
    done = tachbpf("-p", idle.pid, "-e", "cycles", "-d", "0.2", "--json", "-o", out / "x.tach")
    if done.returncode:
        refused(done, "cycles", "-e cycles", "cpu-clock")
        assert not (out / "x.tach").exists()
    else:
        assert done.summary["ticks"]["source"] == "cycles"


def test_the_clock_can_be_insisted_on(idle, out):
    done = succeeded(tachbpf("-p", idle.pid, "-e", "cpu-clock", "-d", "0.2", "--json", "-o",
                             out / "x.tach"))
    assert done.summary["ticks"]["source"] == "cpu-clock"


def test_without_privilege_it_leaves_no_files(for_anyone, out):
    out.chmod(0o777)
    subprocess.run(as_nobody(for_anyone, "-a", "-d", "1", "-o", out / "none"),
                   capture_output=True, timeout=TIMEOUT)
    assert not (out / "none").exists()


def test_files_are_read_without_privilege(for_anyone, out):
    path = out / "public.tach"
    shutil.copy(CAPTURE, path)
    path.chmod(0o644)
    done = subprocess.run(as_nobody(for_anyone, "info", path), capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr


def test_no_such_process(out):
    gone = subprocess.Popen(["true"])
    gone.wait()
    refused(tachbpf("-p", gone.pid, "-d", "1", "-o", out / "x.tach"), str(gone.pid), "no process")
    assert not (out / "x.tach").exists()


def test_a_process_that_is_not_python(sleeper, out):
    refused(tachbpf("-p", sleeper.pid, "-d", "1", "-o", out / "x.tach"),
            str(sleeper.pid), "not", "Python")
    assert not (out / "x.tach").exists()


@pytest.mark.parametrize("pid", ["abc", "-1", "0", "1x", "", "99999999999999999999", "1,,2"])
def test_a_pid_that_is_no_pid(pid):
    refused(tachbpf("-p", pid), status=2)


@pytest.mark.parametrize("rate", ["0", "-5", "abc", "", "1e99", "10xhz", "nan", "99999999999999"])
def test_a_bad_rate(rate):
    refused(tachbpf("-a", "-r", rate), "rate", status=2)


@pytest.mark.parametrize("duration", ["0", "-1", "abc", "", "nan", "inf", "1e400"])
def test_a_bad_duration(duration):
    refused(tachbpf("-a", "-d", duration), "duration", status=2)


@pytest.mark.parametrize("argv", [["--no-such-option"], [], ["-a", "--layout", "old"],
                                  ["-a", "--compression", "gzip"], ["-a", "-p", "1"],
                                  ["-p", "1", "--", "true"], ["-a", "--"], ["frobnicate"],
                                  ["replay"], ["info"]])
def test_a_bad_command_line(argv):
    finished = tachbpf(*argv)
    assert finished.returncode == 2, repr(finished)
    assert finished.stderr.strip() and not finished.stdout.strip(), repr(finished)


def test_output_for_all_is_a_file(out):
    (out / "there").write_text("mine")
    refused(tachbpf("-a", "-d", "1", "-o", out / "there"), "there")
    assert (out / "there").read_text() == "mine"


def test_output_for_one_is_a_directory(idle, out):
    (out / "there").mkdir()
    refused(tachbpf("-p", idle.pid, "-d", "1", "-o", out / "there"), "there", "directory")


def test_output_in_a_directory_that_is_not_there(idle, out):
    refused(tachbpf("-p", idle.pid, "-d", "1", "-o", out / "no" / "x.tach"), "x.tach")


def test_output_on_a_read_only_file_system(idle, out):
    # root may write anywhere else; the mount goes away with the command
    (out / "ro").mkdir()
    mount = ["unshare", "--mount", "sh", "-c",
             'mount -t tmpfs -o ro none "$0" && exec "$@"', str(out / "ro")]
    refused(tachbpf("-p", idle.pid, "-d", "1", "-o", out / "ro" / "x.tach", prefix=mount),
            "read-only")


NOBODY = ("-a", "--exclude-exe", "*")


def test_no_python_found_says_so_and_ends_with_the_duration(out):
    finished = tachbpf(*NOBODY, "-d", "1", "-o", out / "none", "--json")
    assert "no python" in finished.stderr.lower(), repr(finished)
    assert finished.returncode == 3, repr(finished)
    assert not (out / "none").exists()


def test_no_python_found_keeps_waiting_without_a_duration(out):
    with Recording([*NOBODY, "-o", out / "none"]) as waiting:
        select.select([waiting.process.stderr], [], [], TIMEOUT)
        assert "no python" in waiting.process.stderr.readline().lower()
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.process.wait(1)         # it must not end: a second shows that it does not
        waiting.process.send_signal(signal.SIGINT)
        assert waiting.wait().returncode == 3
    assert not (out / "none").exists()


def test_an_unsupported_python_is_refused_by_name(unsupported, out):
    refused(tachbpf("-p", unsupported.pid, "-d", "1", "-o", out / "x.tach"), "3.5.4",
            str(unsupported.pid))


def test_unsupported_pythons_are_refused_once_each_beside_others(unsupported, scratch, out,
                                                                 python):
    with Target(python, scratch, "shares=600") as fine:
        fine.go()
        finished = succeeded(tachbpf("-a", "-d", "2", "-o", out / "all", "--json"))
        refusals = [r for r in finished.summary["refused"] if r["pid"] == unsupported.pid]
        assert len(refusals) == 1
        assert "3.5.4" in refusals[0]["reason"]
        assert sum(str(unsupported.pid) in line for line in finished.stderr.splitlines()) == 1
        assert [p for p in tach_files(out / "all") if p.name.startswith(f"{fine.pid}-")]
        assert not [p for p in tach_files(out / "all")
                    if p.name.startswith(f"{unsupported.pid}-")]


@pytest.mark.parametrize("content", [b"", b"TACH", b"HCAT" + bytes(60), os.urandom(4096)],
                         ids=["empty", "short", "zeros", "noise"])
@pytest.mark.parametrize("command", ["info", "report", "replay"])
def test_a_file_that_is_not_a_profile(out, content, command):
    (out / "bad.tach").write_bytes(content)
    extra = ["--format", "collapsed"] if command == "replay" else []
    refused(tachbpf(command, out / "bad.tach", *extra), "bad.tach")


def test_a_truncated_profile(out):
    whole = CAPTURE.read_bytes()
    (out / "cut.tach").write_bytes(whole[:len(whole) // 2])
    refused(tachbpf("info", out / "cut.tach"), "cut.tach")


def test_a_profile_that_is_not_there(out):
    refused(tachbpf("info", out / "none.tach"), "none.tach", "no such file")


def test_an_unknown_format():
    refused(tachbpf("replay", CAPTURE, "--format", "nonsense"), "nonsense", status=2)


def test_help_and_version_need_no_privilege(for_anyone):
    for option, word in (("--help", "usage"), ("-h", "usage"), ("--version", "tachbpf")):
        done = subprocess.run(as_nobody(for_anyone, option), capture_output=True, text=True,
                              timeout=TIMEOUT)
        assert done.returncode == 0 and word in done.stdout.lower(), (option, done)
