# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Real containers, without a network and without a daemon: podman's in a store of their own, runc's
from a bundle made here. Both run on v1, hybrid and v2 hosts, and where rlimits cannot be raised."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from processes import TIMEOUT

LIMITS = ("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096")
IMAGE = "localhost/shop/checkout:1.2"


def missing():
    """What is not installed; "": nothing."""
    return " ".join(tool for tool in ("podman", "runc", "conmon")
                    if not shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin"))


def run(*argv, **kwargs):
    done = subprocess.run([*map(str, argv)], capture_output=True, text=True, timeout=TIMEOUT,
                          stdin=subprocess.DEVNULL, **kwargs)
    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout


def usr_of(interpreter):
    """The /usr that a distribution's interpreter lives in."""
    return Path(interpreter.root or "/", "usr")


def program_of(interpreter):
    """Its path there."""
    return interpreter.prefix[-1]


class Podman:
    """A store of podman's with one small image: an empty root, in which some /usr is mounted."""

    def __init__(self):
        self.home = Path(tempfile.mkdtemp(prefix="tachbpf-podman-", dir="/tmp"))
        self.base = ["podman", "--root", self.home / "root", "--runroot", self.home / "run",
                     "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs",
                     "--events-backend", "none"]

    def __enter__(self):
        tree = self.home / "tree"
        for name in ("usr", "proc", "dev", "sys", "tmp", "etc", "out"):
            (tree / name).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (tree / name).symlink_to("usr/" + name)
        run("tar", "-C", tree, "-cf", self.home / "tree.tar", ".")
        self("import", self.home / "tree.tar", IMAGE)
        return self

    def __exit__(self, *_):
        with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
            self("rm", "--all", "--force", "--time", "0")
        shutil.rmtree(self.home, ignore_errors=True)

    def __call__(self, *argv):
        return run(*self.base, *argv)

    def run(self, name, usr, argv, *options):
        return self("run", "--name", name, "--runtime", "runc", *LIMITS, "--network", "none",
                    "-v", f"{usr}:/usr:ro", *options, IMAGE, *argv)

    @contextlib.contextmanager
    def running(self, name, usr, argv, *options):
        """In the background; its id and the host's number of its first process."""
        cid = self.run(name, usr, argv, "-d", *options).strip()
        try:
            yield cid, int(self("inspect", "--format", "{{.State.Pid}}", cid))
        finally:
            self("rm", "--force", "--time", "0", cid)


class Runc:
    """A container of runc alone, in a cgroup of any name."""

    def __init__(self, root, argv, cgroup, cid=None, extra_namespaces=()):
        self.home = Path(tempfile.mkdtemp(prefix="tachbpf-runc-", dir="/tmp"))
        self.cid = cid or os.urandom(32).hex()
        self.config = {
            "ociVersion": "1.0.2",
            "process": {"user": {"uid": 0, "gid": 0}, "args": [*map(str, argv)], "cwd": "/",
                        "env": ["PATH=/usr/bin:/bin"]},
            "root": {"path": str(root), "readonly": True},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
            "linux": {"cgroupsPath": cgroup.format(id=self.cid),
                      "namespaces": [{"type": t} for t in ("pid", "mount", *extra_namespaces)],
                      "resources": {"devices": [{"allow": True, "access": "rwm"}]}}}

    def base(self):
        return ["runc", "--root", self.home / "state"]

    def __enter__(self):
        (self.home / "config.json").write_text(json.dumps(self.config))
        with open(self.home / "log", "w") as log:   # the container keeps our streams open
            done = subprocess.run([*map(str, self.base()), "run", "--detach", "--bundle",
                                   str(self.home), self.cid], stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, timeout=TIMEOUT)
        assert done.returncode == 0, (self.home / "log").read_text()
        self.pid = json.loads(run(*self.base(), "state", self.cid))["pid"]
        return self

    def __exit__(self, *_):
        with contextlib.suppress(AssertionError):
            run(*self.base(), "delete", "--force", self.cid)
        shutil.rmtree(self.home, ignore_errors=True)
