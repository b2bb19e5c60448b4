# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fresh systems of several distributions: a root of each, with nothing but make in it.

A root is kept in two states in the cache of the interpreters: as debootstrap makes it, and after
`make deps` has been run in it. Tests write to an overlay, which goes away with the process.
"""
import contextlib
import hashlib
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from interp import cache
from paths import REPO

DEPS = ("Makefile", "packaging/packages.mk", *(f"tools/{n}.sh" for n in ("deps", "bpftool", "libbpf", "libbpf_version",
                                                "private_apt")))
# What a root needs of the machine: processes, the kernel's facts, devices. $0: the root, or an
# overlay over it in $1, both of a mount namespace of their own.
ENTER = """
set -e
if [ -n "$1" ]; then
	mount -t overlay overlay -o lowerdir="$0",upperdir="$1/upper",workdir="$1/work" "$1/root"
	root=$1/root
else
	root=$0
fi
for d in proc sys dev; do mount --rbind /$d "$root/$d"; done
mount -t tmpfs tmpfs "$root/tmp"
[ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$root/etc/resolv.conf"
shift
cd /
exec chroot "$root" "$@"
"""


def enter(root, overlay, *argv):
    """The command that runs argv in a root; overlay: a directory of its own, "" changes the root."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, str(root),
            str(overlay), *argv]


def mirror_of(family):
    """The mirror of Debian or Ubuntu: apt's own, or the one beside it on the same host."""
    return re.sub(r"/(debian|ubuntu)/?$", f"/{family}", cache.mirror())


def sources():
    """The files of the tree, as a fresh clone has them, with what is not committed yet."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=REPO,
                            capture_output=True, check=True).stdout
    return [f for f in listed.decode().split("\0") if f and (REPO / f).is_file()]


def copy_tree(to, files):
    to.mkdir(parents=True, exist_ok=True)
    packed = subprocess.run(["tar", "-c", "--null", "-T", "-"], cwd=REPO, capture_output=True,
                            input="\0".join(files).encode(), check=True).stdout
    subprocess.run(["tar", "-x", "--no-same-owner"], cwd=to, input=packed, check=True)


@dataclass(frozen=True)
class Bare:
    """A root as debootstrap makes it."""

    system: object
    what = "a fresh root, a minute or two"

    @property
    def name(self):
        return self.system.name + "-bare"

    def recipe(self):
        return f"{self.system} make\n"

    def make(self, workshop):
        s, root = self.system, workshop.path("root")
        # The keys of another distribution are not here: that root is for a test only.
        keys = f"/usr/share/keyrings/{s.family}-archive-keyring.gpg"
        check = [f"--keyring={keys}"] if os.path.exists(keys) else ["--no-check-gpg"]
        script = {"debian": "sid", "ubuntu": "gutsy"}[s.family]
        mirror = mirror_of(s.family)
        workshop.run("debootstrap", "--variant=minbase", "--include=make,ca-certificates", *check,
                     "--components=" + ",".join(s.components), s.suite, root, mirror,
                     f"/usr/share/debootstrap/scripts/{script}")
        with open(f"{root}/etc/apt/sources.list", "w") as out:
            for suite in (s.suite, *s.more_suites):
                out.write(f"deb {mirror} {suite} {' '.join(s.components)}\n")
        return root


@dataclass(frozen=True)
class Ready:
    """A root in which `make deps` was run: as a user does it, from the tree's own files."""

    system: object
    what = "make deps, a minute or two"

    @property
    def name(self):
        return self.system.name + "-deps"

    def recipe(self):
        digest = hashlib.sha256(b"".join((REPO / f).read_bytes() for f in DEPS[2:])).hexdigest()
        return f"{self.system} {digest}\n"

    def make(self, workshop):
        root = Path(workshop.path("root"))
        workshop.run("cp", "-a", cache.path_of(Bare(self.system).name), root)
        copy_tree(root / "src", [f for f in sources() if f in DEPS])
        workshop.run(*enter(root, "", "make", "-C", "/src", "deps"))
        workshop.run("rm", "-rf", f"{root}/var/cache/apt/archives")
        os.makedirs(f"{root}/var/cache/apt/archives/partial")
        return str(root)


@dataclass(frozen=True)
class System:
    name: str           # the distribution and its version
    family: str
    suite: str
    components: tuple = ("main",)
    more_suites: tuple = ()

    def prepare(self):
        """Make its root, if it is not in the cache. cache.Failed: it cannot be had."""
        jobs = cache.Jobs(1)
        cache.prepare(Bare(self), jobs)
        cache.prepare(Ready(self), jobs)

    @contextlib.contextmanager
    def fresh(self):
        """A function that runs a command line in a fresh copy of the root, with the tree in /src."""
        with tempfile.TemporaryDirectory(prefix="tachbpf-distro-", dir=cache.cache_dir()) as scratch:
            for part in ("upper", "work", "root"):
                os.mkdir(f"{scratch}/{part}", 0o755)
            copy_tree(Path(scratch) / "upper/src", sources())

            def run(*argv, timeout=cache.TIMEOUT):
                return subprocess.run(enter(cache.path_of(Ready(self).name), scratch, *argv),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                      stderr=subprocess.STDOUT, timeout=timeout, env={
                                          "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"})
            yield run


UBUNTU = ("main", "universe")
SYSTEMS = (
    System("debian-12", "debian", "bookworm"),
    System("debian-13", "debian", "trixie"),
    System("debian-sid", "debian", "sid"),
    System("ubuntu-22.04", "ubuntu", "jammy", UBUNTU, ("jammy-updates",)),
    System("ubuntu-24.04", "ubuntu", "noble", UBUNTU, ("noble-updates",)),
)
