#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The real interpreters the tests run against: finds them, and prepares sid's.

`make interpreters` runs this file; the tests import it. It knows where
interpreters live and how to start one, nothing about the profiler. Preparing
(debootstrap) is done here only, never from a test: tests discover.
"""
import fcntl
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

SUPPORTED = ((3, 11), (3, 15))          # first and last minor version
SID_VERSIONS = ("3.13", "3.14", "3.15")
# What set-up promises; under CI=true a test that misses one fails.
PROMISED = ("system-3.11",) + tuple("sid-" + v for v in SID_VERSIONS)

# Runs a command inside the sid root. The mounts live in a namespace of their
# own and go away with the process, however it ends. /tmp is shared, so that
# targets and profiles have the same path inside and outside.
ENTER_ROOT = ('mount --bind /proc "$0/proc" && mount --bind /tmp "$0/tmp" && '
              'root=$0 && cd / && exec chroot "$root" "$@"')

PROBE = """
import sys, json
maps = open("/proc/self/maps").read()
print(json.dumps([list(sys.version_info[:3]), "/libpython" in maps,
                  hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled()]))
"""


def cache_dir():
    return os.environ.get("TACHBPF_CACHE", "/var/cache/tachbpf")


def sid_root():
    return os.path.join(cache_dir(), "sid")


@dataclass(frozen=True)
class Interpreter:
    name: str                   # "pyenv-3.12.1", "system-3.11", "sid-3.15"
    version: tuple              # (3, 15, 2)
    kind: str                   # "shared" or "static" libpython
    prefix: tuple = field(repr=False)   # argv that starts it

    def command(self, *args):
        return [*self.prefix, *map(str, args)]

    @property
    def minor(self):
        return self.version[:2]

    @property
    def supported(self):
        return SUPPORTED[0] <= self.minor <= SUPPORTED[1]

    def __str__(self):
        return self.name


def in_root(root, *argv):
    return ("unshare", "--mount", "sh", "-c", ENTER_ROOT, root, *argv)


def probe(name, prefix):
    """An Interpreter, or None if it cannot be started."""
    try:
        out = subprocess.run([*prefix, "-S", "-c", PROBE], capture_output=True, text=True,
                             timeout=60, check=True).stdout
        version, shared, free_threaded = json.loads(out)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if free_threaded:
        return None
    return Interpreter(name, tuple(version), "shared" if shared else "static", tuple(prefix))


def pyenv_root():
    if os.environ.get("PYENV_ROOT"):
        return os.environ["PYENV_ROOT"]
    if shutil.which("pyenv"):
        done = subprocess.run(["pyenv", "root"], capture_output=True, text=True, timeout=60)
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip()
    return os.path.expanduser("~/.pyenv")


def candidates():
    """(name, argv prefix) of everything that may be an interpreter."""
    for path in sorted(glob.glob("/usr/bin/python3.[0-9]*")):
        minor = os.path.basename(path)[len("python"):]
        if minor.replace(".", "").isdigit():
            yield "system-" + minor, (path,)
    for path in sorted(glob.glob(os.path.join(pyenv_root(), "versions", "3.*", "bin", "python3"))):
        yield "pyenv-" + path.split(os.sep)[-3], (path,)
    for version in SID_VERSIONS:
        path = "usr/bin/python" + version
        if os.path.exists(os.path.join(sid_root(), path)) and os.geteuid() == 0:
            yield "sid-" + version, in_root(sid_root(), "python" + version)


def discover(supported_only=True):
    """Every interpreter that starts, oldest first."""
    found = [probe(name, prefix) for name, prefix in candidates()]
    found = [i for i in found if i and (i.supported or not supported_only)]
    return sorted(found, key=lambda i: (i.version, i.name))


def missing(found):
    """Names of promised interpreters that are not there."""
    promised = set(PROMISED)
    for path in glob.glob(os.path.join(pyenv_root(), "versions", "3.*")):
        version = os.path.basename(path)
        if SUPPORTED[0] <= tuple(map(int, version.split(".")[:2])) <= SUPPORTED[1]:
            promised.add("pyenv-" + version)
    return sorted(promised - {i.name for i in found})


def root_is_complete(root):
    """Every promised interpreter of the root starts in it."""
    return all(probe("sid-" + v, in_root(root, "python" + v)) for v in SID_VERSIONS)


def mirror():
    """The Debian mirror that apt is configured with."""
    out = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)"],
                         capture_output=True, text=True, timeout=60, check=True).stdout
    for line in out.splitlines():
        if line.strip():
            return line.strip()
    raise SystemExit("interpreters: apt has no mirror configured; add one to sources.list")


def need_debootstrap():
    if shutil.which("debootstrap"):
        return
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install = ["apt-get", "install", "-y", "--no-install-recommends", "debootstrap"]
    if subprocess.run(install, env=env, timeout=600).returncode:
        subprocess.run(["apt-get", "update"], env=env, timeout=600, check=True)
        subprocess.run(install, env=env, timeout=600, check=True)


def build_root(cache):
    """debootstrap into a fresh directory; its mounts stay in a private namespace."""
    need_debootstrap()
    fresh = tempfile.mkdtemp(prefix="sid.new.", dir=cache)
    os.chmod(fresh, 0o755)
    packages = ",".join("python" + v for v in SID_VERSIONS)
    with open(os.path.join(cache, "sid.log"), "w") as log:
        done = subprocess.run(["unshare", "--mount", "debootstrap", "--variant=minbase",
                               "--include=" + packages, "sid", fresh, mirror()],
                              stdout=log, stderr=subprocess.STDOUT, timeout=1800)
    if done.returncode or not root_is_complete(fresh):
        shutil.rmtree(fresh, ignore_errors=True)
        raise SystemExit(f"interpreters: debootstrap of sid failed, see {cache}/sid.log")
    return fresh


def prepare_sid():
    """Make sid_root() complete; an interrupted run leaves nothing that looks complete."""
    cache = cache_dir()
    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, "sid.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for stale in glob.glob(os.path.join(cache, "sid.new.*")):
            shutil.rmtree(stale, ignore_errors=True)
        if root_is_complete(sid_root()):
            return
        if os.path.exists(sid_root()):
            raise SystemExit(f"interpreters: {sid_root()} is there but not complete; "
                             "move it away and run this again")
        print("interpreters: fetching sid's Pythons, about a minute", flush=True)
        os.rename(build_root(cache), sid_root())


def main():
    if os.geteuid() != 0:
        raise SystemExit("interpreters: needs root (debootstrap, chroot): sudo make interpreters")
    prepare_sid()
    found = discover(supported_only=False)
    for i in found:
        print(f"{i.name:16} {'.'.join(map(str, i.version)):8} {i.kind:7}"
              f" {'' if i.supported else 'unsupported: must be refused'}".rstrip())
    absent = missing(found)
    if absent:
        raise SystemExit("interpreters: missing: " + ", ".join(absent))


if __name__ == "__main__":
    sys.exit(main())
