# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A command after "--", when the recording ends before it; and what is said when nothing was
recorded."""
import json
import os
import pty
import signal
import sys

from notes import note
from paths import binary
from recording import Recording, succeeded, tachbpf
from target import Target

# Says what signals it gets; ends with status 7 when its input ends.
LISTENER = """
import os, signal, sys, time
def said(*words):
    os.write(1, (" ".join(words) + "\\n").encode())
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), lambda number, frame, name=name: said(name))
said("ready")
while time.process_time() < 0.5: pass
said("worked")
time.sleep(3600)
"""


def commanded(python, out, *options, listens=(), **more):
    """A recording of the listener, which is "ready"."""
    return Recording([*options, "-o", out / "x.tach", "--", *python.command("-c", LISTENER,
                                                                            *listens)], **more)


def expect(recording, word):
    """The command's next line; the profiler's own output is on stderr."""
    assert recording.process.stdout.readline() == f"{word}\n"


def comm(pid):
    with open(f"/proc/{pid}/comm") as f:
        return f.read().strip()


def child(recording):
    """The command's pid; beside it there is the keeper, which ends with the recording."""
    task = f"/proc/{recording.process.pid}/task/{recording.process.pid}/children"
    with open(task) as f:
        pid, = [int(p) for p in f.read().split() if comm(p) != "tachbpf-keeper"]
    return pid


def wait_finished(recording, out, words="the recording has ended"):
    """Until the profiler says so; its files are complete then."""
    said = ""
    while words not in said:
        line = recording.process.stderr.readline()
        assert line, said
        said += line
    info = succeeded(tachbpf("info", "--verify", out / "x.tach"))
    assert "sound" in info.stdout
    return said


UNTIL_A_LINE = """
import sys, time
while time.process_time() < 0.5: pass
with open(sys.argv[1]) as fifo:
    fifo.readline()
raise SystemExit(7)
"""


def test_after_the_duration_the_command_goes_on(python, out):
    os.mkfifo(out / "fifo")
    with Recording(["-d", "1.5", "-o", out / "x.tach", "--",
                    *python.command("-c", UNTIL_A_LINE, out / "fifo")]) as recording:
        wait_finished(recording, out)
        assert recording.process.poll() is None
        (out / "fifo").write_text("go\n")
        assert recording.wait().returncode == 7


def test_kill_ends_it_with_the_recording(python, out):
    with commanded(python, out, "-d", "1.5", "--kill") as recording:
        finished = recording.wait()
    assert finished.returncode == 128 + signal.SIGTERM, repr(finished)


def test_kill_kills_what_does_not_listen(python, out):
    with commanded(python, out, "-d", "1.5", "--kill", listens=["SIGTERM"]) as recording:
        finished = recording.wait()
    assert finished.returncode == 128 + signal.SIGKILL, repr(finished)
    assert "SIGTERM" in finished.stdout


def test_a_sigint_to_tachbpf_alone_ends_the_recording_and_a_second_one_tachbpf(python, out):
    with commanded(python, out, listens=["SIGINT", "SIGTERM"]) as recording:
        expect(recording, "ready")
        expect(recording, "worked")
        pid = child(recording)
        recording.process.send_signal(signal.SIGINT)
        wait_finished(recording, out)
        assert recording.process.poll() is None
        recording.process.send_signal(signal.SIGINT)
        finished = recording.wait_alone()
        os.kill(pid, 0)         # it goes on, and got no signal
    assert finished == 128 + signal.SIGINT


def test_a_sigterm_is_passed_on(python, out):
    with commanded(python, out, "-q") as recording:
        expect(recording, "ready")
        expect(recording, "worked")
        recording.process.send_signal(signal.SIGTERM)
        finished = recording.wait()
    assert finished.returncode == 128 + signal.SIGTERM, repr(finished)
    assert "sound" in succeeded(tachbpf("info", "--verify", out / "x.tach")).stdout


AFTER = """
import os, time
try:
    os.write(1, b"ready\\n")
    while True: pass
except KeyboardInterrupt:
    def after_ctrl_c():
        end = time.process_time() + 0.3
        while time.process_time() < end: pass
    after_ctrl_c()
raise SystemExit(5)
"""


def test_ctrl_c_on_a_terminal_is_the_commands(python, out, oracle):
    """Both get it: the recording goes on until the command has ended."""
    argv = [str(binary()), "-q", "-r", "999", "-o", str(out / "x.tach"), "--",
            *map(str, python.command("-c", AFTER))]
    note(argv)
    pid, terminal = pty.fork()
    if not pid:
        os.execv(argv[0], argv)
    shown = b""
    try:
        while b"ready" not in shown:
            shown += os.read(terminal, 1000)
        os.write(terminal, b"\x03")
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert status == 5, os.read(terminal, 1000)
    finally:
        os.close(terminal)
    profile, = oracle.load(out / "x.tach")
    assert any(f.func == "after_ctrl_c" for s in profile.samples for f in s.frames)


# ---- scripts, and what other profilers' users type ----

def test_a_script_runs_under_its_python(out):
    script = out / "app.py"
    script.write_text(f"#!{sys.executable}\nimport sys, time\n"
                      "while time.process_time() < 0.3: pass\nprint(sys.executable, sys.argv[1:])\n")
    done = succeeded(tachbpf("-o", out / "x.tach", script, "-d", "1"))
    assert f"running it with {sys.executable}\n" in done.stderr
    assert done.stdout == f"{sys.executable} ['-d', '1']\n"
    assert "app.py" in succeeded(tachbpf("report", "--by", "line", out / "x.tach")).stdout


def test_async_says_what_an_old_python_cannot(python, out):
    done = succeeded(tachbpf("--async", "-o", out / "x.tach", "--",
                             *python.command("-c", "import time\nwhile time.process_time() < 0.3: pass")))
    old = python.minor < (3, 8)
    assert done.stderr.count("--async needs Python 3.8, and process ") == old, done.stderr
    assert done.stderr.count("--async found nothing: no process has loaded asyncio") == (not old), done.stderr


# ---- nothing was recorded ----

def test_a_shim_that_still_starts_is_named(out):
    os.mkfifo(out / "fifo")
    done = tachbpf("-d", "0.2", "--kill", "-o", out / "x.tach", "--",
                   "sh", "-c", 'read line <> "$0"; exec python3 -c pass', out / "fifo")
    assert "'sh' was still running sh when the recording ended after " in done.stderr, repr(done)
    assert done.returncode == 128 + signal.SIGTERM, repr(done)


def test_no_python_is_said_and_leaves_nothing(out):
    done = tachbpf("-o", out / "x", "--", "ls", out)
    assert done.returncode == 3 and "no Python process was found" in done.stderr, repr(done)
    done = tachbpf("-q", "-o", out / "x.tach", "--", "true")
    assert done.returncode == 3 and "no Python process was found" in done.stderr, repr(done)
    assert not os.listdir(out)


def test_the_commands_own_status_counts_more(out):
    done = tachbpf("-o", out / "x", "--", "sh", "-c", "exit 5")
    assert done.returncode == 5 and "no Python process was found" in done.stderr, repr(done)
    assert not os.listdir(out)


def test_a_directory_that_was_there_stays(out):
    (out / "mine").mkdir()
    assert tachbpf("-o", out / "mine", "--", "true").returncode == 3
    assert os.listdir(out) == ["mine"] and not os.listdir(out / "mine")


def test_without_samples_it_names_the_mode_that_has_them(scratch, python, out):
    with Target(python, scratch, "shares=600") as sleeper:      # it waits to be let go
        done = succeeded(tachbpf("-p", sleeper.pid, "-d", "0.3", "-o", out / "x.tach", "--json"))
        assert done.summary["samples"] == 0 and "-m wall" in done.stderr
        done = succeeded(tachbpf("-p", sleeper.pid, "-d", "0.3", "-m", "wall", "-o",
                                 out / "wall.tach", "--json"))
        assert done.summary["samples"] > 0 and "no samples" not in done.stderr


def test_a_python_that_cannot_be_profiled_is_none_to_record(unsupported, out):
    done = tachbpf("--exe", "unsupported", "-d", "0.3", "-o", out / "x", "--json")
    assert done.returncode == 3 and "no Python process that can be profiled" in done.stderr, repr(done)
    assert json.loads((out / "x" / "session.json").read_text())["refused"]
