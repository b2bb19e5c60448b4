# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The directory where prepared interpreters are kept, each there completely or not at all.

A thing is made in a fresh directory, marked with its recipe and renamed; one that
is there with another recipe, or without any, is made again. Knows nothing of what
is made. Whoever makes things shares a fixed number of jobs with all the others.
"""
import contextlib
import fcntl
import glob
import os
import select
import shutil
import subprocess
import tempfile
import time

STAMP = ".tachbpf-recipe"
TIMEOUT = 3600


class Failed(Exception):
    pass


def cache_dir():
    return os.environ.get("TACHBPF_CACHE", "/var/cache/tachbpf")


def path_of(name):
    return os.path.join(cache_dir(), name)


class Jobs:
    """A GNU make jobserver: all that runs here, and every make below, share so many jobs."""

    def __init__(self, count):
        self.fds = os.pipe()
        os.write(self.fds[1], b"+" * count)

    @contextlib.contextmanager
    def one(self):
        token = self.take()
        try:
            yield
        finally:
            os.write(self.fds[1], token)

    def take(self):
        while True:
            select.select(self.fds[:1], [], [])
            # another may be faster, and a make sets the pipe to be non-blocking
            with contextlib.suppress(BlockingIOError):
                return os.read(self.fds[0], 1)

    def makeflags(self):
        return " -j --jobserver-auth=%d,%d" % self.fds


class Workshop:
    """What a recipe is given: a fresh directory, a log and a way to run commands."""

    def __init__(self, directory, log, jobs):
        self.directory, self.log, self.jobs = directory, log, jobs

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def run(self, *argv, cwd=None, env=None):
        """In a PID namespace, so that nothing goes on if this process is killed."""
        wrapper = ["setpriv", "--pdeathsig", "KILL",
                   "unshare", "--mount", "--pid", "--fork", "--kill-child"]
        env = dict(os.environ, LC_ALL="C.UTF-8", MAKEFLAGS=self.jobs.makeflags(), **(env or {}))
        print("+", *argv, file=self.log, flush=True)
        done = subprocess.run([*wrapper, *map(str, argv)], cwd=cwd or self.directory, env=env,
                              stdin=subprocess.DEVNULL, stdout=self.log, timeout=TIMEOUT,
                              stderr=subprocess.STDOUT, pass_fds=self.jobs.fds)
        if done.returncode:
            raise Failed(f"{argv[0]} ended with {done.returncode}, see {self.log.name}")


def is_complete(name, recipe):
    try:
        with open(os.path.join(path_of(name), STAMP)) as stamp:
            return stamp.read() == recipe
    except OSError:
        return False


def in_use(tree):
    """Whether a process has its root or its program there."""
    there = os.stat(tree)
    for process in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(process + "/root"), there):
                return True
            if os.readlink(process + "/exe").startswith(tree + "/"):
                return True
    return False


def remove(tree):
    subprocess.run(["rm", "-rf", "--one-file-system", tree], timeout=600)


def sweep(path):
    """Remove what an interrupted run left, and what was replaced while it was in use."""
    for tree in glob.glob(path + ".new.*"):
        remove(tree)
    for tree in glob.glob(path + ".old.*"):
        if not in_use(tree):
            remove(tree)


def put_in_place(finished, path, recipe):
    with open(os.path.join(finished, STAMP), "w") as stamp:
        stamp.write(recipe)
    os.chmod(finished, 0o755)
    if os.path.exists(path):
        os.rename(path, "%s.old.%d" % (path, os.getpid()))
    os.rename(finished, path)


def prepare(thing, jobs):
    """Make what has thing.name, .recipe() and .make(workshop) -> directory, if it is missing.

    Returns the seconds it took, or None if it was there.
    """
    path, recipe = path_of(thing.name), thing.recipe()
    os.makedirs(cache_dir(), exist_ok=True)
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sweep(path)
        if is_complete(thing.name, recipe):
            return None
        fresh = tempfile.mkdtemp(prefix=thing.name + ".new.", dir=cache_dir())
        os.chmod(fresh, 0o755)
        try:
            with open(path + ".log", "w") as log, jobs.one():
                start = time.monotonic()
                print(f"interpreters: making {thing.name} ({thing.what})", flush=True)
                finished = thing.make(Workshop(fresh, log, jobs))
                put_in_place(finished, path, recipe)
        finally:
            remove(fresh)
        sweep(path)
        return time.monotonic() - start


def need(what, package):
    """A program, or a file if it is a path, that preparing needs, from Debian's package."""
    if os.path.exists(what) or shutil.which(what):
        return
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install = ["apt-get", "install", "-y", "--no-install-recommends", package]
    if subprocess.run(install, env=env, timeout=600).returncode:
        subprocess.run(["apt-get", "update"], env=env, timeout=600, check=True)
        subprocess.run(install, env=env, timeout=600, check=True)


def mirror():
    """The Debian mirror that apt is configured with."""
    out = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)"],
                         capture_output=True, text=True, timeout=TIMEOUT, check=True).stdout
    for line in out.splitlines():
        if line.strip():
            return line.strip()
    raise SystemExit("interpreters: apt has no mirror configured; add one to sources.list")
