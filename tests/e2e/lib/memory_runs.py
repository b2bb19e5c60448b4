# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Recordings of memory: programs of targets/memory that keep books, and what was recorded of them.

The recording ends while the program still holds what its books say.
"""
import contextlib
import json
import os
import select
import signal
import time
from pathlib import Path

import command
import noise
from processes import TIMEOUT
from recording import Recording, succeeded
from summary import files
from target import Target

PAGE, MIB = 4096, 1 << 20
DEFAULT_EVERY = 64 * 1024
NOT_WALKED = "<not walked>"
NEAR = 0.05             # of the books: what the issue asks for
# What a function may touch beside its books: CPython's own objects, stack and tables.
OTHER = 128 * 1024


def environment(interpreter):
    """Debug builds would put more around each object."""
    return {"PYTHONMALLOC": "pymalloc"} if interpreter.debug else {}


class Rows:
    """What tachbpf mem says of one file or directory: bytes by function, all its files added up."""

    def __init__(self, *argv):
        self.said = json.loads(command.run("mem", "--json", "--limit", 0, "--by", "function",
                                           *argv).stdout)
        self.functions = {}
        assert all(file["valid"] for file in self.said["files"]), self.said["files"]
        for row in self.said["rows"]:
            sums = self.functions.setdefault(row["function"], {"touched": 0, "held": 0})
            sums["touched"] += row["touched"]
            sums["held"] += row["held"]

    def of(self, function, what):
        return self.functions.get(function, {"touched": 0, "held": 0})[what]

    def total(self, what):
        return sum(sums[what] for sums in self.functions.values())

    def top(self, what):
        """The function with the most."""
        return max(self.functions, key=lambda function: self.of(function, what))


class Recorded:
    """One program's books, and the files of its recording."""

    def __init__(self, truth, finished, directory, every):
        self.truth, self.finished, self.directory, self.every = truth, finished, directory, every
        self.summary = finished.summary
        self.processes = {p["pid"]: p for p in files(self.summary)}
        self.mine = self.processes[truth["pid"]]
        self.rows = Rows(self.mine["path"])

    @property
    def growth(self):
        before, after = self.truth["anonymous"]
        return after - before

    def child(self, pid):
        return Rows(self.processes[pid]["path"])

    def off(self, what, books=None, rows=None):
        """Those functions whose bytes are not what their books say: (name, books, found, allowed)."""
        rows, wrong = rows or self.rows, []
        not_walked = rows.of(NOT_WALKED, what)      # may have been of any function
        for name, book in (books or self.truth["functions"]).items():
            allowed = self.allowed(book[what], book["touched"])
            found = rows.of(name, what)
            most = book.get(what + "_most", book[what])
            if not book[what] - allowed - not_walked <= found <= most + allowed:
                wrong.append((name, book[what], found, allowed))
        return wrong

    def allowed(self, size, touched):
        """How far what was found may be from a size that is in the books, of so many touched bytes.

        5 % or two sampling distances, and what the books leave out. If not each fault is wanted, chance
        makes more of small sizes (noise.bytes_bound): what is held is found by what was sampled of all
        that was touched.
        """
        if not self.every:
            return 0        # each block is known
        near = max(NEAR * size, 2 * self.every) + OTHER
        if self.every <= PAGE:
            return near
        return max(near, noise.bytes_bound(touched, self.every).high - touched + OTHER)


def argv_of(target, directory, every, options=()):
    """How memory of a target is recorded. every: None with --allocations, which samples nothing."""
    sampled = ["--every", every] if every else []
    return ["-m", "mem", "-p", target.pid, *sampled, "-o", directory, *options]


def wait_probed(recording):
    """With --allocations: until its calls were counted, and it says that blocks are recorded."""
    said, end = b"", time.monotonic() + TIMEOUT
    while b"recording blocks from now on" not in said:
        ready, _, _ = select.select([recording.process.stderr], [], [], end - time.monotonic())
        more = os.read(recording.process.stderr.fileno(), 4096) if ready else b""
        said += more
        assert more, said


def record(interpreter, scratch, directory, *parts, every=PAGE, options=(), env=None,
           children=True):
    """A program that plays these parts under an interpreter, as it was recorded."""
    family = ["--children"] * children
    with Target(interpreter, scratch, *parts, program="memory/run.py", name="books",
                env=dict(environment(interpreter), **(env or {}))) as target, \
            Recording(argv_of(target, directory, every, ("--json", *family, *options))) as r:
        r.wait_recording()
        if every is None:
            wait_probed(r)
        target.go()
        truth = target.wait_done()
        finished = succeeded(r.stop())
        target.leave()
    return Recorded(truth, finished, Path(directory), every)


class Waiting(Target):
    """A target that a recording starts: its standard input and output are pipes with names."""

    def __init__(self, interpreter, scratch, *plan):
        self.interpreter = interpreter
        self.truth_path = Path(scratch) / f"command-{interpreter.name}-{os.urandom(3).hex()}.json"
        self.pipes = [self.truth_path.with_suffix(end) for end in (".in", ".out")]
        for pipe in self.pipes:
            os.mkfifo(pipe)
        program = interpreter.command(Path(scratch) / "targets" / "memory/run.py", self.truth_path, *plan)
        self.argv = ["sh", "-c", 'in=$1 out=$2; shift 2; exec "$@" <"$in" >"$out"', "sh", *self.pipes, *program]
        self.process = self

    def __enter__(self):
        self.stdin, self.stdout = (open(pipe, mode) for pipe, mode in zip(self.pipes, "wr"))
        self.expect("ready")
        return self

    def __exit__(self, *_):
        self.stdin.close()
        self.stdout.close()


@contextlib.contextmanager
def what_it_said(recording):
    """With what goes wrong here, what the recorder said: it may have refused."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{error}; {recording.stop()}") from error


def record_command(interpreter, scratch, directory, *parts):
    """With --allocations: a program that the recording starts, until it is killed."""
    started = Waiting(interpreter, scratch, *parts)
    argv = ["-m", "mem", "--allocations", "--json", "-o", directory, "--", *started.argv]
    with Recording(argv, env=environment(interpreter)) as r, what_it_said(r), started as target:
        wait_probed(r)
        target.go()
        truth = target.wait_done()
        os.kill(truth["pid"], signal.SIGKILL)   # it frees nothing
        finished = r.wait()
    assert finished.returncode == 128 + signal.SIGKILL, finished
    return Recorded(truth, finished, Path(directory), None)
