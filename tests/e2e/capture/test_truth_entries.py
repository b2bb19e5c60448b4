# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ways to start a program and to end it: the outermost frame has the name CPython gives it."""
import contextlib
import json
import os
import subprocess
import zipfile

import pytest

import noise
from present import covered
from processes import TIMEOUT, kill, online_cpus
from profiles import SYNTHETIC
from recording import Recording, succeeded
from stacks import Known, Verdict
from summary import files

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

RATE = 9999
MIN_POINTS = 1000
FEW_POINTS = noise.samples_needed(0.05)     # show what is wrong in one of twenty, for certain

PROGRAM = """
import sys
sys.path.insert(0, {targets!r})
import entry

def act():
    entry.work()

entry.main({truth!r}, act)
"""
EXIT = """
import sys
sys.path.insert(0, {targets!r})
import atexit, _thread, types
import entry, rehearse

def daemon(once=False):
    while True:
        entry.burn(1000)
        if once:
            break

def act():
    if rehearse.recording:
        daemon(once=True)
        entry.Teardown(0.0001).__del__()
    entry.work()

# 3.6 has an asynchronous generator there that never began. When it goes, its frame runs without a
# caller, which no rehearsal sees.
types.__dict__.pop("_ag", None)
sys.last = entry.Teardown(0.2)      # goes when nearly everything is gone
atexit.register(entry.at_exit, {truth!r},
                rehearse.Play(act, ["burn"], guests=[entry.Teardown.__del__, daemon]))
_thread.start_new_thread(daemon, ())
"""


def write_program(directory, name, text):
    path = directory / name
    path.write_text(text)
    return path


def command(directory, text):
    return ["-c", text], None


def stdin(directory, text):
    return ["-"], write_program(directory, "on_stdin.py", text)


def script(directory, text):
    return [write_program(directory, "script.py", text)], None


def module(directory, text):
    package = directory / "package"
    package.mkdir()
    write_program(package, "__init__.py", "")
    write_program(package, "__main__.py", text)
    return ["-m", "package"], None


def zipapp(directory, text):
    path = directory / "program.pyz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__main__.py", text)
    return [path], None


def compiled(directory, text):
    write_program(directory, "compiled.py", text)
    return ["-c", "import py_compile, runpy; runpy.run_path(py_compile.compile("
            f"{str(directory / 'compiled.py')!r}, {str(directory / 'made.pyc')!r}))"], None


# name -> how it is started, the program, a file that is in every stack of it
ENTRIES = {
    "command": (command, PROGRAM, "<string>"),
    "stdin": (stdin, PROGRAM, "<stdin>"),
    "script": (script, PROGRAM, "script.py"),
    "module": (module, PROGRAM, os.path.join("package", "__main__.py")),
    "zipapp": (zipapp, PROGRAM, os.path.join("program.pyz", "__main__.py")),
    "compiled": (compiled, PROGRAM, "compiled.py"),
    "exit": (script, EXIT, "entry.py"),
}


LAUNCHER = """
import os, sys
os.write(1, b"ready\\n")
os.read(int(sys.argv[1]), 3)
os.execv(sys.executable, [sys.executable, "-S"] + sys.argv[2:])    # no site's atexit handlers
"""


class Started:
    """An interpreter that starts another program in its place when it is told to.

    The profiler knows the process before, so no sample of the program is missing.
    """

    def __init__(self, interpreter, scratch, name):
        start, program, _ = ENTRIES[name]
        directory = scratch / f"entry-{interpreter.name}-{name}"
        directory.mkdir()
        self.truth_path = directory / "truth.json"
        text = program.format(targets=str(scratch / "targets"), truth=str(self.truth_path))
        args, source = start(directory, text)
        read, self.go_fd = os.pipe()
        with open(source or os.devnull) as stdin_file:
            self.process = subprocess.Popen(
                interpreter.command("-S", "-c", LAUNCHER, read, *args), stdin=stdin_file,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pass_fds=[read],
                start_new_session=True, env=dict(os.environ, PYTHONPATH=str(directory)))
        os.close(read)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.go_fd)
        kill(self.process)

    def wait_ready(self):
        assert self.process.stdout.readline() == "ready\n", self.process.stderr.read()

    def go(self):
        os.write(self.go_fd, b"go\n")

    def wait(self):
        _, said = self.process.communicate(timeout=TIMEOUT)
        assert self.truth_path.exists(), said
        truth = json.loads(self.truth_path.read_text())
        left = self.truth_path.with_name("truth.json.left")
        return dict(truth, left_us=int(left.read_text()) if left.exists() else None)


@pytest.fixture(scope="session")
def entered(scratch):
    """(interpreter, entry) -> its truth; and where the files are."""
    with contextlib.ExitStack() as stack:
        started = {(i.name, name): stack.enter_context(Started(i, scratch, name))
                   for i in covered("two") for name in ENTRIES}
        pids = ",".join(str(s.process.pid) for s in started.values())
        for process in started.values():
            process.wait_ready()
        recording = stack.enter_context(
            Recording(["-p", pids, "-r", str(RATE), "-o", scratch / "entries", "--json",
                       "--no-sample-limit", "--split", "all"]))
        recording.wait_recording()
        truths, waiting = {}, list(started.items())
        while waiting:          # not all at once, or names have to wait for samples
            batch, waiting = waiting[:2 * online_cpus()], waiting[2 * online_cpus():]
            for _, process in batch:
                process.go()
            truths.update((key, process.wait()) for key, process in batch)
        finished = succeeded(recording.wait())
    paths = {f["pid"]: f["path"] for f in files(finished.summary)}
    return truths, paths


MANY = pytest.mark.parametrize("points", [FEW_POINTS, pytest.param(MIN_POINTS,
                                                                   marks=pytest.mark.truth)])


@MANY
@pytest.mark.parametrize("name", ENTRIES)
def test_the_stack_begins_where_the_program_did(entered, interpreter, oracle, name, points):
    truths, paths = entered
    truth = truths[interpreter.name, name]
    profile = oracle.load(paths[truth["pid"]])[0]
    phase = truth["phases"]["entry"]
    samples = profile.between(*phase["window_us"])
    known = Known(phase["known"], columns=interpreter.minor >= (3, 11))
    seen = Verdict(samples, known)
    print(f"{interpreter.name} {name}: {seen.points} points, {seen.wrong} wrong, "
          f"{seen.unreadable} unreadable")
    assert not seen.wrong, f"{seen.wrong} of {seen.points} wrong\n{seen.report()}"
    assert seen.points >= points
    assert seen.leaves["burn"] > (50 if points == MIN_POINTS else 0)
    main = [s for s in samples if s.tid == truth["pid"] and s.frames[-1].file != SYNTHETIC]
    assert all(any(f.file.endswith(ENTRIES[name][2]) for f in s.frames) for s in main)


@MANY
def test_stacks_during_finalization(entered, interpreter, oracle, points):
    truths, paths = entered
    truth = truths[interpreter.name, "exit"]
    profile = oracle.load(paths[truth["pid"]])[0]
    phase = truth["phases"]["entry"]
    samples = profile.between(truth["left_us"], 1 << 62)
    known = Known(phase["known"], columns=interpreter.minor >= (3, 11))
    seen = Verdict(samples, known)
    assert not seen.wrong, f"{seen.wrong} of {seen.points} wrong\n{seen.report()}"
    assert seen.points >= points
