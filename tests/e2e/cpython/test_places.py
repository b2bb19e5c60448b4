# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Wherever a CPython's files are, whatever they are called, or whether they are still there.

All of them run side by side under one `tachbpf -a`; each test then looks at one.
"""
import contextlib
import os
import shutil
import subprocess
import sys
from collections import Counter

import pytest

import accounting
import embedders
import noise
from interpreters import Interpreter
from present import BY_NAME, absent, need
from processes import TIMEOUT
from profiles import without_gc
from recording import Recording, succeeded
from summary import files
from target import Target

RATE = 499
CPU_S = 1.2

# Starts its first argument from memory: no file system has it.
MEMFD = """
import os, sys
fd = os.memfd_create("python")
with open(sys.argv[1], "rb") as f:
    os.write(fd, f.read())
os.execve(fd, ["python", *sys.argv[2:]], os.environ)
"""
# $0: a directory that holds lower/; starts $1 from an overlay of it.
OVERLAY = ('mount -t tmpfs none "$0/rw" && mkdir "$0/rw/up" "$0/rw/work" && mount -t overlay overlay '
           '-o "lowerdir=$0/lower,upperdir=$0/rw/up,workdir=$0/rw/work" "$0/merged" && '
           'exec "$0/merged/$@"')
BOUND = 'mount --bind "$0" "$1" && shift 0 && exec "$@"'


class Places:
    """Makes the places below a directory: name -> (argv prefix, what to do once it runs)."""

    def __init__(self, here, static, shared):
        self.here, self.static, self.shared = here, static, shared

    def copy(self, of, name, *parts):
        directory = self.here.joinpath(name, *parts[:-1])
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / parts[-1]
        shutil.copy(of, path)
        return path

    @staticmethod
    def upgrade(path):
        """What a package manager does: a new file takes the name of the old."""
        def do():
            new = path.with_name("new-one")
            shutil.copy("/bin/true", new)
            os.rename(new, path)
        return do

    def renamed(self):
        return [self.copy(self.static.exe, "renamed", "myservice")], None

    def newline(self):
        return [self.copy(self.static.exe, "newline", "my\nservice")], None

    def long_path(self):
        return [self.copy(self.static.exe, "long", *["d" * 200] * 4, "python")], None

    def hard_link(self):
        path = self.copy(self.static.exe, "hard", "first")
        os.link(path, path.with_name("second"))
        path.unlink()
        return [path.with_name("second")], None

    def symlink(self):
        path = self.here / "a-link"
        path.symlink_to(self.static.exe)
        return [path], None

    def deleted(self):
        path = self.copy(self.static.exe, "deleted", "python3")
        return [path], path.unlink

    def upgraded(self):
        path = self.copy(self.static.exe, "upgraded", "python3")
        return [path], self.upgrade(path)

    def upgraded_library(self):
        path = self.copy(self.shared.shared, "upgraded-lib", os.path.basename(self.shared.shared))
        return ["env", f"LD_PRELOAD={path}", self.shared.exe], self.upgrade(path)

    def by_its_loader(self):
        return ["/lib64/ld-linux-x86-64.so.2", self.static.exe], None

    def in_memory(self):
        return [sys.executable, "-c", MEMFD, self.static.exe], None

    def overlay(self):
        self.copy(self.static.exe, "overlay", "lower", "python3")
        for name in ("rw", "merged"):
            (self.here / "overlay" / name).mkdir()
        return ["unshare", "--mount", "sh", "-c", OVERLAY, self.here / "overlay", "python3"], None

    def another_file_here(self):
        """Its path leads to another program in our mount namespace."""
        path = self.copy("/bin/true", "bound", "program")
        return ["unshare", "--mount", "sh", "-c", BOUND, self.static.exe, path], None

    def venv(self, *flags):
        path = self.here / ("venv" + "".join(flags))
        subprocess.run([self.static.exe, "-m", "venv", "--without-pip", *flags, path], check=True,
                       timeout=TIMEOUT)
        return [path / "bin" / "python"], None

    def venv_of_links(self):
        return self.venv("--symlinks")

    def venv_of_copies(self):
        return self.venv("--copies")

    def stripped_shared(self):
        path = self.copy(self.shared.shared, "stripped", os.path.basename(self.shared.shared))
        embedders.strip(path)
        return ["env", f"LD_PRELOAD={path}", self.shared.exe], None


NAMES = [name for name, value in vars(Places).items()
         if not name.startswith("_") and name not in ("copy", "upgrade", "venv")]


@pytest.fixture(scope="module")
def everywhere(scratch, oracle):
    """name -> (profile, truth) of all places, or why one could not be made."""
    if "system-3.11" not in BY_NAME:
        absent("system-3.11 is not installed")
    pyenv = [i for i in BY_NAME.values() if i.name.startswith("pyenv-")]
    static = embedders.kit(BY_NAME["system-3.11"])
    shared = embedders.kit(pyenv[0]) if pyenv else None
    places = Places(scratch / "places", static, shared)
    targets, failed = {}, {}
    with contextlib.ExitStack() as stack:
        for name in NAMES:
            try:
                prefix, then = getattr(places, name)()
                version = (shared if "shared" in name or "library" in name else static).interpreter
                target = stack.enter_context(Target(
                    Interpreter(name.replace("_", "-"), version.version, "", tuple(map(str, prefix))),
                    scratch, f"shares={CPU_S}"))
            except (AssertionError, OSError, AttributeError, subprocess.SubprocessError) as error:
                failed[name] = repr(error)
                continue
            if then:
                then()
            targets[name] = target
        recording = stack.enter_context(
            Recording(["-a", "-r", RATE, "-o", scratch / "everywhere", "--json"]))
        recording.wait_recording()
        for target in targets.values():
            target.go()
        truths = {name: target.wait_done() for name, target in targets.items()}
        finished = succeeded(recording.stop())
    found = {f["pid"]: f["path"] for f in files(finished.summary)}
    mine = {name: found[t["pid"]] for name, t in truths.items() if t["pid"] in found}
    profiles = dict(zip(mine, oracle.load(*mine.values())))
    away = noise.missed(finished.summary) + finished.summary["lost_total"]
    return profiles, truths, failed, away


@pytest.mark.parametrize("name", NAMES)
def test_found_and_right(everywhere, name):
    profiles, truths, failed, away = everywhere
    if name in failed:
        pytest.skip(f"cannot be made here: {failed[name]}")
    assert name in profiles, "no profile of it"
    profile, truth = profiles[name], truths[name]
    assert list(profile.info["python_version"]) == truth["version"]
    samples = profile.phase(truth, "shares")
    spent = truth["phases"]["shares"]["spent"]
    total = sum(spent.values())
    assert len(samples) >= noise.least(total, RATE, away)
    counts = Counter(without_gc(s)[0].func for s in samples if without_gc(s))
    seen = sum(counts[name] for name in spent)
    away = min(away, max(0, total * RATE - len(samples)))
    for function, seconds in spent.items():
        assert counts[function] in noise.share_bound(seen, seconds / total, away), counts


def test_what_a_host_does_before_it_loads_python_is_no_loss(out):
    """A program computes in C, loads libpython and runs it: the first part is not Python's."""
    kit, exe, spin_s, rate = embedders.kit(need("pyenv-3.12.1")), out / "host", 0.6, 1999
    assert embedders.cc(exe, libc=kit.libc) is None
    steps = ("wait", f"spin={1000 * spin_s:.0f}", f"local={kit.shared}", "init=0",
             f"run=0:{embedders.BURN}", "pause")
    with embedders.Embedder(kit, exe, *steps, env={"BURN_S": "0.1"}) as host, \
            Recording(["-a", "-r", rate, "-o", out / "p", "--json"]) as recording:
        recording.wait_recording()
        host.go()
        run, = host.wait_done()
        summary = succeeded(recording.stop()).summary
    accounting.check(summary)
    row, = [p for p in summary["processes"] if p["pid"] == host.pid]
    seconds = run.cpu_end / 1e9 - spin_s
    print(f"{row['samples']} samples, {row['lost']}, of {seconds * rate:.0f}")
    bound = noise.count_bound(seconds, rate)
    assert row["samples"] + sum(row["lost"].values()) <= bound.high < spin_s * rate, str(bound)
