# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ways to start a program and to end it: the outermost frame has the name CPython gives it."""
import contextlib
import json
import os
import subprocess
import zipfile

import pytest

from e2e_fixtures import FOUND
from harness import TIMEOUT, Recording, files, kill, succeeded
from stacks import Known, Verdict

RATE = 9999
MIN_POINTS = 1000

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
import atexit, _thread, time
import entry, rehearse

daemons = []

def daemon():
    while True:
        entry.burn(1000)

def act():
    if not daemons:
        daemons.append(_thread.start_new_thread(daemon, ()))
        time.sleep(0.05)        # the daemon is rehearsed, too
    if rehearse.recording:
        last.step()
        entry.Teardown(0).__del__()
        entry.Teardown(0.0001).__del__()
    entry.work()

last = entry.Teardown(0.2)
atexit.register(entry.at_exit, {truth!r},
                rehearse.Play(act, ["burn"], guests=[entry.Teardown.__del__, daemon]))
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
    return ["-c", f"import sys, runpy; sys.path.insert(0, {str(directory)!r}); "
            "runpy.run_module('package', run_name='__main__')"], None


def zipapp(directory, text):
    path = directory / "program.pyz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__main__.py", text)
    return [path], None


def compiled(directory, text):
    write_program(directory, "compiled.py", text)
    return ["-c", "import py_compile, runpy; runpy.run_path(py_compile.compile("
            f"{str(directory / 'compiled.py')!r}, {str(directory / 'made.pyc')!r}))"], None


# name -> how it is started, the program, the file of the outermost frame
ENTRIES = {
    "command": (command, PROGRAM, "<string>"),
    "stdin": (stdin, PROGRAM, "<stdin>"),
    "script": (script, PROGRAM, "script.py"),
    "module": (module, PROGRAM, "<string>"),
    "zipapp": (zipapp, PROGRAM, os.path.join("program.pyz", "__main__.py")),
    "compiled": (compiled, PROGRAM, "<string>"),
    "exit": (script, EXIT, "entry.py"),
}


class Started:
    """A shell that becomes the program when it is told to; the profiler knows it before."""

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
                ["sh", "-c", f'read go <&{read}; exec "$@" {read}<&-', "sh",
                 *interpreter.command(*args)],
                stdin=stdin_file, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                pass_fds=[read], start_new_session=True)
        os.close(read)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.go_fd)
        kill(self.process)

    def go(self):
        os.write(self.go_fd, b"go\n")

    def wait(self):
        _, said = self.process.communicate(timeout=TIMEOUT)
        assert self.truth_path.exists(), said
        return json.loads(self.truth_path.read_text())


@pytest.fixture(scope="session")
def entered(scratch):
    """(interpreter, entry) -> its truth; and where the files are."""
    with contextlib.ExitStack() as stack:
        started = {(i.name, name): stack.enter_context(Started(i, scratch, name))
                   for i in FOUND for name in ENTRIES}
        pids = ",".join(str(s.process.pid) for s in started.values())
        recording = stack.enter_context(
            Recording(["-p", pids, "-r", str(RATE), "-o", scratch / "entries", "--json"]))
        recording.wait_recording()
        for process in started.values():
            process.go()
        truths = {key: process.wait() for key, process in started.items()}
        finished = succeeded(recording.wait())
    paths = {f["pid"]: f["path"] for f in files(finished.summary)}
    return truths, paths


@pytest.mark.parametrize("name", ENTRIES)
def test_the_stack_begins_where_the_program_did(entered, interpreter, oracle, name):
    truths, paths = entered
    truth = truths[interpreter.name, name]
    profile = oracle.load(paths[truth["pid"]])[0]
    phase = truth["phases"]["entry"]
    samples = profile.between(*phase["window_us"])
    known = Known(phase["known"], columns=interpreter.minor >= (3, 11))
    seen = Verdict(samples, known)
    print(f"{interpreter.name} {name}: {seen.points} points, {seen.wrong} wrong, "
          f"{seen.marked} marked")
    assert not seen.wrong, f"{seen.wrong} of {seen.points} wrong\n{seen.report()}"
    assert seen.points >= MIN_POINTS
    assert seen.leaves["burn"] > 50
    roots = {s.frames[-1].file for s in samples if s.tid == truth["pid"]}
    assert all(root.endswith(ENTRIES[name][2]) or root == "~" for root in roots), roots


def test_stacks_during_finalization(entered, interpreter, oracle):
    truths, paths = entered
    truth = truths[interpreter.name, "exit"]
    profile = oracle.load(paths[truth["pid"]])[0]
    phase = truth["phases"]["entry"]
    samples = profile.between(phase["left_us"], 1 << 62)
    known = Known(phase["known"], columns=interpreter.minor >= (3, 11))
    seen = Verdict(samples, known)
    print(f"{interpreter.name}: {seen.points} points, {seen.wrong} wrong, {seen.marked} marked, "
          f"{dict(seen.leaves)}")
    assert not seen.wrong, f"{seen.wrong} of {seen.points} wrong\n{seen.report()}"
    assert seen.points >= MIN_POINTS
