#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The real interpreters the tests run against: which there are, and how each was built.

`make interpreters` runs this file, which has those made that are missing (interp/);
the tests import it, and only discover. It knows where interpreters live and how to
start one, nothing about the profiler but which of them it must refuse.
"""
import concurrent.futures
import functools
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field

import choice
from interp.builds import BUILDS, KEYRING
from interp.cache import Failed, Jobs, need, path_of, prepare
from interp.probes import Answers
from interp.roots import ROOTS, in_root
from processes import TIMEOUT

# What roots need, what builds need beside a compiler, and the Debian packages that have it.
NEEDED = (("debootstrap", "debootstrap"), (KEYRING, "debian-archive-keyring"))
NEEDED_FOR_BUILDS = (("musl-gcc", "musl-tools"), ("/usr/include/zlib.h", "zlib1g-dev"),
                     (f"/usr/include/{os.uname().machine}-linux-gnu/ffi.h", "libffi-dev"))
SUPPORTED = ((3, 6), (3, 15))          # first and last minor version

PROBE = r"""
import json, re, sys
maps = open("/proc/self/maps").read()
print(json.dumps({"version": sys.version_info[:3],
                  "kind": "shared" if "/libpython" in maps else "static",
                  "free_threaded": "t" in sys.abiflags,
                  "debug": hasattr(sys, "gettotalrefcount"),
                  "trace_refs": hasattr(sys, "getobjects"),
                  "libc": "musl" if re.search(r"/ld-musl-|-musl/libc\.so", maps) else "glibc"}))
"""
# Where a build's headers and the files that hold the interpreter are.
PLACES = """
import json, os, sys, sysconfig
of = sysconfig.get_config_var
lib = [of("LIBDIR"), os.path.join(of("LIBDIR"), of("MULTIARCH") or "")]
print(json.dumps([[sysconfig.get_path("include"), sysconfig.get_path("platinclude")],
                  [os.path.realpath(sys.executable)] +
                  [os.path.join(d, of("INSTSONAME")) for d in lib if ".so" in of("INSTSONAME")]]))
"""


def sid_root():
    return path_of("sid")


@dataclass(frozen=True)
class Interpreter:
    name: str                   # "pyenv-3.12.1", "system-3.11", "sid-3.15-dbg", "ft-3.14"
    version: tuple              # (3, 15, 2)
    kind: str                   # "shared" or "static" libpython
    prefix: tuple = field(repr=False)   # argv that starts it
    root: str = ""              # the directory that is its /, if it is not ours
    free_threaded: bool = False
    debug: bool = False         # Py_DEBUG
    trace_refs: bool = False    # Py_TRACE_REFS
    libc: str = "glibc"

    def command(self, *args):
        return [*self.prefix, *map(str, args)]

    @property
    def minor(self):
        return self.version[:2]

    @property
    def refusal(self):
        """Why the profiler must refuse this one; empty if it must not."""
        if not SUPPORTED[0] <= self.minor <= SUPPORTED[1]:
            return "version"
        return ""

    @property
    def supported(self):
        return not self.refusal

    @property
    def flags(self):
        """How it was built, in words."""
        words = [self.kind, self.libc]
        words += [word for word, is_so in (("free-threaded", self.free_threaded),
                                           ("debug", self.debug),
                                           ("trace-refs", self.trace_refs)) if is_so]
        return " ".join(words + ["in its own root"] * bool(self.root))

    def ask(self, script):
        """What a script prints, as JSON."""
        done = subprocess.run(self.command("-S", "-c", script), capture_output=True, text=True,
                              timeout=TIMEOUT, check=True)
        return json.loads(done.stdout)

    @functools.lru_cache()
    def places(self):
        """(directories of headers, files that may hold the interpreter), as we see them."""
        includes, images = [[self.root + path for path in paths] for paths in self.ask(PLACES)]
        return includes, list(dict.fromkeys(filter(os.path.exists, images)))

    @property
    def includes(self):
        return self.places()[0]

    @property
    def images(self):
        return self.places()[1]

    def __str__(self):
        return self.name


@dataclass(frozen=True)
class Candidate:
    """What may be an interpreter."""
    name: str
    prefix: tuple
    root: str = ""

    def ask(self):
        """What it says of itself, or None if it cannot be started."""
        try:
            out = subprocess.run([*self.prefix, "-S", "-c", PROBE], capture_output=True,
                                 text=True, timeout=TIMEOUT, check=True).stdout
            return json.loads(out)
        except (OSError, ValueError, subprocess.SubprocessError):
            return None

    def probe(self, answers):
        """An Interpreter, or None."""
        said = answers.get(self.root + self.prefix[-1], self.ask)
        if said is None:
            return None
        return Interpreter(self.name, prefix=tuple(self.prefix), root=self.root,
                           **dict(said, version=tuple(said["version"])))


def pyenv_root():
    if os.environ.get("PYENV_ROOT"):
        return os.environ["PYENV_ROOT"]
    if shutil.which("pyenv"):
        done = subprocess.run(["pyenv", "root"], capture_output=True, text=True, timeout=TIMEOUT)
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip()
    return os.path.expanduser("~/.pyenv")


def pyenv_versions():
    """(name, directory) of each version, not of the virtual environments beside them."""
    for path in sorted(glob.glob(os.path.join(pyenv_root(), "versions", "3.*"))):
        if re.fullmatch(r"3\.\d+\.\d+t?", os.path.basename(path)) and not os.path.islink(path):
            yield "pyenv-" + os.path.basename(path), path


def candidates():
    for path in sorted(glob.glob("/usr/bin/python3.[0-9]*")):
        minor = os.path.basename(path)[len("python"):]
        if minor.replace(".", "").isdigit():
            yield Candidate("system-" + minor, (path,))
    for name, path in pyenv_versions():
        yield Candidate(name, (os.path.join(path, "bin", "python3"),))
    for root in ROOTS if os.geteuid() == 0 else ():
        for name, program in root.interpreters():
            if os.path.lexists(root.path() + program):
                yield Candidate(name, in_root(root.path(), program), root.path())
    for build in BUILDS:
        if os.path.exists(build.interpreter()):
            yield Candidate(build.name, (build.interpreter(),))


@functools.lru_cache()
def discovered():
    answers = Answers(PROBE)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(lambda candidate: candidate.probe(answers), candidates()))
    answers.save()
    return sorted(filter(None, found), key=lambda i: (i.version, i.name))


def discover(supported_only=True):
    """Every interpreter that starts, oldest first."""
    return [i for i in discovered() if i.supported or not supported_only]


def promised():
    """What set-up promises; under CI=true a test that misses one fails."""
    yield "system-" + os.path.basename(os.path.realpath("/usr/bin/python3"))[len("python"):]
    yield from (name for name, _ in pyenv_versions())
    yield from (name for root in ROOTS for name, _ in root.interpreters())
    yield from (build.name for build in BUILDS
                if not build.optional or os.path.exists(build.interpreter()))


def missing(found):
    """Names of promised interpreters that are not among all those found."""
    return sorted(set(promised()) - {i.name for i in found})


def needed_for(size):
    """The roots and builds that a run of this size (choice.py) needs."""
    chosen = choice.of(list(promised()), size)
    return [*(r for r in ROOTS if chosen & {name for name, _ in r.interpreters()}),
            *(b for b in BUILDS if b.name in chosen)]


def wanted(names):
    """What is to be made: all that is promised, and what is asked for by name."""
    unknown = set(names) - {thing.name for thing in (*ROOTS, *BUILDS)}
    if unknown:
        raise SystemExit("interpreters: there is no " + ", ".join(sorted(unknown)))
    return [*ROOTS, *(b for b in BUILDS if not b.optional or b.name in names)]


def prepare_all(things):
    """Roots and builds at the same time, as many jobs as CPUs; one's failure is its own."""
    jobs = Jobs(len(os.sched_getaffinity(0)))
    failed = []
    with concurrent.futures.ThreadPoolExecutor(len(things)) as pool:
        for thing, made in [(t, pool.submit(prepare, t, jobs)) for t in things]:
            try:
                seconds = made.result()
                if seconds is not None:
                    print(f"interpreters: {thing.name} is ready after {seconds:.0f} s")
            except (Failed, OSError, ValueError, subprocess.SubprocessError) as error:
                failed.append(f"interpreters: {thing.name} failed: {error}")
    return failed


def main():
    import greenlets        # which knows this file

    if os.geteuid() != 0:
        raise SystemExit("interpreters: needs root (debootstrap, chroot): sudo make interpreters")
    start = time.monotonic()
    names = sys.argv[1:]
    size = "few" if names == ["few"] else "all"
    things = needed_for(size) if size == "few" else wanted(names)
    for what, package in (*NEEDED, *(NEEDED_FOR_BUILDS if set(things) & set(BUILDS) else ())):
        need(what, package)
    failed = prepare_all(things)
    found = discover(supported_only=False)
    asked_for = choice.of(list(promised()), size)
    greenlets.prepare([i for i in found if i.name in asked_for])
    for i in found:
        print(f"{i.name:18} {'.'.join(map(str, i.version)):8} {i.flags}"
              f"{', must be refused: ' + i.refusal if i.refusal else ''}")
    print(f"{len(found)} interpreters after {time.monotonic() - start:.0f} s")
    failed += [f"interpreters: {name} is missing" for name in missing(found) if name in asked_for]
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    sys.exit(main())
