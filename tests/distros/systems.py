# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fresh systems of several distributions: a root of each, with nothing but make in it.

A root is kept in two states in the cache of the interpreters: as debootstrap makes it, and after
`make deps` has been run in it. Tests write to an overlay, which goes away with the process; the
roots of the interpreters can be entered in the same way.
"""
import contextlib
import fcntl
import hashlib
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from interp import cache
from paths import REPO
from processes import kill

SCRATCH = "tachbpf-distro-"
ENVIRONMENT = {"HOME": "/root", "LC_ALL": "C.UTF-8", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
SCRIPTS = tuple(f"tools/{name}.sh" for name in ("deps", "bpftool", "libbpf", "libbpf_version",
                                                "private_apt"))
MAKEFILES = ("Makefile", "tests/tests.mk", "tests/fuzz/fuzz.mk", "tests/bench/bench.mk", "packaging/install.mk", "packaging/packages.mk")
DEPS = (*MAKEFILES, *SCRIPTS)     # all that `make deps` takes
INSTALL = "apt-get update -q && apt-get install -y -q --no-install-recommends "
# Shell: a Python that computes until the script ends, from now on.
BUSY = """
python3 -c 'open("/tmp/computes", "w")
while True: pass' &
trap "kill $!" EXIT
until [ -e /tmp/computes ]; do sleep 0.1; done
"""
# A mirror may stand still: its lists are signed, but older than they say that they are good for.
APT_CONF = 'Acquire::Check-Valid-Until "false";\n'
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
    """The command that runs argv in a root. overlay: a directory of its own; "": in the root."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, str(root),
            str(overlay), *argv]


def mirror_of(family):
    """The mirror of Debian or Ubuntu: apt's own, or the one beside it on the same host."""
    return re.sub(r"/(debian|ubuntu)/?$", f"/{family}", cache.mirror())


def proxies():
    """How this machine's apt reaches its mirrors."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    return "".join(f"{line}\n" for line in dump.splitlines()
                   if line.startswith(("Acquire::http::", "Acquire::https::")))


def sources(which="-co"):
    """The files of the tree, as a fresh clone has them, with what is not committed yet. -c: only
    those that git tracks."""
    listed = subprocess.run(["git", "ls-files", which, "--exclude-standard", "-z"], cwd=REPO,
                            capture_output=True, check=True).stdout
    return [f for f in listed.decode().split("\0") if f and (REPO / f).is_file()]


def copy_tree(to, files):
    to.mkdir(parents=True, exist_ok=True)
    packed = subprocess.run(["tar", "-c", "--null", "-T", "-"], cwd=REPO, capture_output=True,
                            input="\0".join(files).encode(), check=True).stdout
    subprocess.run(["tar", "-x", "--no-same-owner"], cwd=to, input=packed, check=True)


class Fresh:
    """A root that a test may change: what is written goes to an overlay in a directory."""

    def __init__(self, root, directory):
        self.root, self.directory = root, Path(directory)
        for part in ("upper", "work", "root"):
            (self.directory / part).mkdir(mode=0o755, exist_ok=True)

    def path(self, inside):
        """Where on this machine a file is that was written there, or is to be there."""
        return self.directory / "upper" / inside.lstrip("/")

    def __call__(self, *argv, timeout=cache.TIMEOUT):
        """Run a command there, one at a time; what it leaves running is ended. Its output, stderr
        included, is in .stdout. It has the host's pid namespace: tachbpf needs that."""
        process = subprocess.Popen(enter(self.root, self.directory, *argv), stdout=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True, env=ENVIRONMENT)
        try:
            said, _ = process.communicate(timeout=timeout)
        finally:
            kill(process)
        return subprocess.CompletedProcess(argv, process.returncode, said)


def sweep():
    """Remove what runs that were killed have left."""
    for left in Path(cache.cache_dir()).glob(SCRATCH + "*"):
        with contextlib.suppress(OSError), open(left / "lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            cache.remove(left)


@contextlib.contextmanager
def fresh(root, tree=()):
    """A Fresh of a root, with these files of the tree in /src."""
    sweep()
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=cache.cache_dir()) as scratch, \
            open(f"{scratch}/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        system = Fresh(root, scratch)
        if tree:
            copy_tree(system.path("/src"), tree)
        yield system


def commit(tree):
    """Makes a directory a repository with one commit: packages are made of those."""
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tree, check=True)
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm",
                    "t"], cwd=tree, check=True)


@dataclass(frozen=True)
class Bare:
    """A root as debootstrap makes it."""

    system: object
    what = "a fresh root, a minute or two"

    @property
    def name(self):
        return self.system.name + "-bare"

    def recipe(self):
        return f"{self.system} make\n{APT_CONF}"

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
        Path(f"{root}/etc/apt/apt.conf.d/90test").write_text(APT_CONF + proxies())
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
        digest = hashlib.sha256(b"".join((REPO / f).read_bytes() for f in SCRIPTS)).hexdigest()
        return f"{self.system} {digest}\n{APT_CONF}"

    def make(self, workshop):
        root = Path(workshop.path("root"))
        workshop.run("cp", "-a", cache.path_of(Bare(self.system).name), root)
        copy_tree(root / "src", [f for f in sources() if f in DEPS])
        workshop.run(*enter(root, "", "apt-get", "update", "-q", "-o",
                            "APT::Update::Error-Mode=any"))
        try:
            workshop.run(*enter(root, "", "make", "-C", "/src", "deps"))
        except cache.Failed as error:           # the packages can be had: it is ours
            raise AssertionError(f"make deps failed on {self.system.name}: {error}") from None
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

    def fresh(self):
        """Its root after `make deps`, with the tree in /src."""
        return fresh(cache.path_of(Ready(self).name), sources())

    def fresh_bare(self, tree=()):
        """Its root as debootstrap makes it, with these files of the tree in /src."""
        return fresh(cache.path_of(Bare(self).name), tree)


UBUNTU = ("main", "universe")
SYSTEMS = (
    System("debian-12", "debian", "bookworm"),
    System("debian-13", "debian", "trixie"),
    System("debian-sid", "debian", "sid"),
    System("ubuntu-22.04", "ubuntu", "jammy", UBUNTU, ("jammy-updates",)),
    System("ubuntu-24.04", "ubuntu", "noble", UBUNTU, ("noble-updates",)),
)
