#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the Python package as a user has it: run.py WHEEL BUILD [pytest's options].

For each of VERSIONS there is a virtual environment in BUILD with the wheel and nothing else of ours; the libraries
of libraries.txt, which pip installs once, are in the cache. There tests/python runs, and once mypy. A Python
that is not here, or whose libraries cannot be had, is a skipped test with its reason.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import interpreters  # noqa: E402
import tally  # noqa: E402
from interp.cache import Failed, Jobs, path_of, prepare  # noqa: E402

VERSIONS = ((3, 9), (3, 12), (3, 15))
TYPED = (3, 12)         # where mypy runs
LIBRARIES = HERE / "libraries.txt"
TIMEOUT = 1200
# A program of another root runs outside of it by that root's own linker: pip and the tests see this system.
OUTSIDE = """#!/bin/sh
exec {root}/lib64/ld-linux-x86-64.so.2 --library-path {root}/usr/lib/x86_64-linux-gnu --argv0 "$0" {program} "$@"
"""


class Skip(Exception):
    """There is no such environment; why."""


def name_of(version):
    return ".".join(map(str, version))


def interpreter(version):
    """The interpreter of this version that is most like a user's."""
    found = [i for i in interpreters.discover() if i.minor == version and not (i.free_threaded or i.debug)
             and i.libc == "glibc"]
    if not found:
        raise Skip(f"there is no Python {name_of(version)} here: make interpreters")
    return min(found, key=lambda i: (bool(i.root), i.name))


def run(*argv, **options):
    """Runs a command; Failed with the end of its output."""
    done = subprocess.run(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=TIMEOUT, check=False, **options)
    if done.returncode:
        raise Failed(f"{argv[0]} ended with {done.returncode}: {done.stdout[-1500:]}")
    return done.stdout


@dataclass
class Environment:
    """A virtual environment that can be made without the interpreter's pip, and for one of another root."""
    interpreter: interpreters.Interpreter
    path: Path

    @property
    def python(self):
        return self.path / "bin" / "python"

    def make(self):
        shutil.rmtree(self.path, ignore_errors=True)
        if not self.interpreter.root:
            run(*self.interpreter.command("-m", "venv", "--without-pip", self.path))
            return
        root, program = self.interpreter.root, self.interpreter.root + self.interpreter.prefix[-1]
        (self.path / "bin").mkdir(parents=True)
        (self.path / "lib" / f"python{name_of(self.interpreter.minor)}" / "site-packages").mkdir(parents=True)
        (self.path / "pyvenv.cfg").write_text(f"home = {Path(program).parent}\ninclude-system-site-packages = false\n"
                                              f"version = {'.'.join(map(str, self.interpreter.version))}\n")
        self.python.write_text(OUTSIDE.format(root=root, program=program))
        self.python.chmod(0o755)

    def site(self):
        return Path(run(self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())


class NewestPip:
    """pip for an interpreter that brings none, and may be newer than the others' pips."""
    name, what = "python-pip", "from PyPI, seconds"

    @staticmethod
    def recipe():
        return f"pip for {VERSIONS}"

    @staticmethod
    def make(workshop):
        target = workshop.path("pip")
        run(*interpreter(TYPED).command("-m", "pip", "install", "--target", target, "pip"))
        return target


def pip_of(wanted):
    """The directory of the pip that serves an interpreter."""
    if not wanted.root:
        return run(*wanted.command("-c", "import pip; print(pip.__path__[0])")).strip()
    prepare(NewestPip, Jobs(1))
    return path_of(NewestPip.name) + "/pip"


def pip(environment, *arguments):
    """Runs pip in an environment that does not have it."""
    run(environment.python, pip_of(environment.interpreter), "--disable-pip-version-check", *arguments,
        env=dict(os.environ, PIP_ROOT_USER_ACTION="ignore", PYTHONDONTWRITEBYTECODE="1"))


@dataclass
class Libraries:
    """The libraries of one interpreter, as cache.prepare() makes them."""
    environment: Environment

    @property
    def name(self):
        key = hashlib.sha256(self.recipe().encode()).hexdigest()[:12]
        return f"python-libraries-{name_of(self.environment.interpreter.minor)}-{key}"

    what = "from PyPI, a minute"

    def recipe(self):
        return f"{self.environment.interpreter}\n{LIBRARIES.read_text()}"

    def make(self, workshop):
        target = workshop.path("libraries")
        pip(self.environment, "install", "--target", target, "-r", LIBRARIES)
        return target


def environment_of(version, wheel, build):
    """The environment with the wheel in it; Skip if it cannot be made, Failed if the wheel cannot be installed."""
    environment = Environment(interpreter(version), build / f"venv-{name_of(version)}")
    libraries = Libraries(environment)
    try:
        environment.make()
        prepare(libraries, Jobs(1))
    except (Failed, OSError, subprocess.SubprocessError) as error:
        raise Skip(f"Python {name_of(version)}: {error}") from error
    (environment.site() / "libraries.pth").write_text(path_of(libraries.name) + "\n")
    pip(environment, "install", "--no-index", "--no-deps", wheel)
    return environment, path_of(libraries.name)


def pytest(environment, libraries, report, options):
    """Runs the tests; returns pytest's exit status."""
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PATH=f"{environment.path / 'bin'}:{os.environ['PATH']}",
               JUPYTER_PATH=f"{libraries}/share/jupyter")
    env.pop("TACHBPF", None)
    return subprocess.run([str(environment.python), "-m", "pytest", "-p", "no:cacheprovider", "-ra", f"--junit-xml={report}",
                           str(HERE), *options], env=env, timeout=TIMEOUT, check=False).returncode


def counted(report):
    """(tally's counts, names of the failed tests) of a JUnit file."""
    counts, failures = {"passed": 0, "failed": 0, "skipped": 0}, []
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        kind = "failed" if case.find("failure") is not None or case.find("error") is not None else \
               "skipped" if case.find("skipped") is not None else "passed"
        counts[kind] += 1
        if kind == "failed":
            failures.append(f"{case.get('classname')}::{case.get('name')}")
    return counts, failures


def test(version, wheel, build, options):
    """Runs all in one version of Python, and says what came of it. Returns whether nothing failed."""
    name, report = f"python {name_of(version)}", build / f"tests-{name_of(version)}.xml"
    print(f"== {name}", flush=True)
    try:
        environment, libraries = environment_of(version, wheel, build)
    except Skip as skip:
        print(f"SKIP {name}: {skip}", flush=True)
        tally.add(os.environ.get("TACHBPF_TIER", "python"), skipped=1)
        return True
    report.unlink(missing_ok=True)
    status = pytest(environment, libraries, report, options)
    counts, failures = counted(report) if report.exists() else ({"failed": 1}, [f"pytest ended with {status}"])
    if version == TYPED:
        typed = mypy(environment)
        counts["passed" if typed else "failed"] += 1
        failures += [] if typed else ["mypy --strict"]
    tally.add(os.environ.get("TACHBPF_TIER", "python"), [(f"{name}: {f}", "") for f in failures], **counts)
    return not failures and status in (0, 5)


def mypy(environment):
    """Checks the types of the installed package."""
    package = environment.site() / "tachbpf"
    done = subprocess.run([str(environment.python), "-m", "mypy", "--strict", "--cache-dir", str(environment.path / "mypy"),
                           str(package)], timeout=TIMEOUT, check=False)
    return done.returncode == 0


def main():
    wheels, build, *options = sys.argv[1:]
    wheel, = Path(wheels).glob("tachbpf-*.whl")
    results = [test(version, wheel, Path(build).resolve(), options) for version in VERSIONS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
