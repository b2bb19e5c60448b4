# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest plugin: the fixtures of the end-to-end and BPF tiers."""
import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import container_runtimes
from grouping import each_worker
from paths import LIB, TARGETS, binary
from present import BY_NAME, FOUND, SIZE, absent, need
from processes import TIMEOUT, kill, online_cpus
from profiles import Oracle
from recording import Recording, succeeded
from summary import files
from target import Target

# One process does all of these, one after the other; CPU seconds of each, in check-truth
# and where structure is looked at.
SECONDS = {"shares": (10, 4), "threads": (2.5, 1), "recursion": (1, 0.6), "deep": (1, 0.6),
           "unicodes": (1, 0.6), "generators": (1, 0.6), "qualnames": (2, 1),
           "exceptions": (1.5, 1.3), "garbage": (1.5, 1), "nogil": (0.8, 0.6),
           "sleepers": (1, 0.6), "recycled": (1.5, 1.3), "entries": (1.5, 1)}
RATE = 999


def behaviours():
    """As targets/run.py wants them."""
    return [f"{name}={seconds[SIZE != 'all']}" for name, seconds in SECONDS.items()]


@each_worker
def root():
    if os.geteuid() != 0:
        absent("needs root: run sudo make check-e2e")
    if not binary().exists():
        pytest.fail(f"{binary()} is not built: run make", pytrace=False)


@each_worker
def interpreter(request):
    if request.param not in BY_NAME:
        absent(f"{request.param} is not installed: run make interpreters")
    return BY_NAME[request.param]


@each_worker
def scratch(root):
    """A directory under /tmp that targets see under the same path, inside sid's root too."""
    path = Path(tempfile.mkdtemp(prefix="tachbpf-e2e-", dir="/tmp"))
    path.chmod(0o755)
    shutil.copytree(TARGETS, path / "targets",
                    ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(LIB / "oracle.py", path)
    yield path
    if not os.environ.get("TACHBPF_KEEP"):
        shutil.rmtree(path)


@pytest.fixture
def out(scratch):
    """A fresh directory for one test's files."""
    return Path(tempfile.mkdtemp(prefix="out-", dir=scratch))


@each_worker
def python315():
    return need("sid-3.15")


@each_worker
def python(python315):
    """Some supported interpreter, for tests where the version does not matter."""
    return BY_NAME.get("system-3.11") or FOUND[0]


@pytest.fixture
def unsupported(scratch):
    """A process of a CPython that must be refused: 3.5."""
    program = scratch / "unsupported"
    if not program.exists():
        subprocess.run(["cc", "-rdynamic", "-o", program, scratch / "targets" / "unsupported.c"],
                       check=True)
    process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    yield process
    kill(process)


@each_worker
def oracle(python315, scratch):
    return Oracle(python315, scratch)


class Matrix:
    """One recording of every interpreter at once, and what each target says it did."""

    def __init__(self, finished, directory, truths):
        self.finished, self.directory, self.truths = finished, directory, truths
        self.summary = finished.summary
        self.profiles = {}

    def file_of(self, name):
        pid = self.truths[name]["pid"]
        found = [f for f in files(self.summary) if f["pid"] == pid]
        assert len(found) == 1, f"{name}: {len(found)} files for pid {pid}"
        return found[0]["path"]


@pytest.fixture(scope="session")
def matrix(scratch):
    """All behaviours under all interpreters, profiled together by one tachbpf -p."""
    directory = scratch / "matrix"
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(Target(i, scratch, *behaviours())) for i in FOUND]
        pids = ",".join(str(t.pid) for t in targets)
        recording = stack.enter_context(
            Recording(["-p", pids, "-r", str(RATE), "-o", directory, "--json",
                       "--no-sample-limit"]))       # a stall of the machine cuts no stack
        recording.wait_recording()
        for target in targets:
            target.go()
        # half a minute of CPU each, of all CPUs together, and as much again for a busy machine
        patience = TIMEOUT + 60 * len(targets) / online_cpus()
        truths = {t.interpreter.name: t.wait_done(patience) for t in targets}
        for target in targets:
            target.leave()
        finished = succeeded(recording.wait())
    return Matrix(finished, directory, truths)


@pytest.fixture
def recorded(matrix, interpreter, oracle):
    """(profile, truth) of one interpreter in the matrix."""
    name = interpreter.name
    if name not in matrix.profiles:
        matrix.profiles[name] = oracle.load(matrix.file_of(name))[0]
    return matrix.profiles[name], matrix.truths[name]


@pytest.fixture(scope="module")
def podman(root):
    if container_runtimes.missing():
        absent(f"{container_runtimes.missing()} is not installed: run make check-deps")
    with container_runtimes.Podman() as store:
        yield store


@each_worker
def system():
    """An interpreter of this host's /usr, which containers see read-only."""
    found = [i for i in FOUND if i.name.startswith("system-")]
    if not found:
        pytest.skip("this host has no Python of its own in /usr")
    return found[0]
