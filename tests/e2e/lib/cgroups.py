# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Cgroups made by hand, in the one hierarchy of v2 and in one of v1, wherever this host has them."""
import contextlib
import os
import re
import time
from pathlib import Path

from processes import TIMEOUT

OCTAL = re.compile(r"\\(\d{3})")


def mounts():
    """(file system type, options, directory) of every cgroup mount that shows its hierarchy's root."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        _, _, _, root, directory = before.split()[:5]
        kind, _, options = after.split()[:3]
        if kind.startswith("cgroup") and root == "/":
            directory = OCTAL.sub(lambda m: chr(int(m[1], 8)), directory)
            yield kind, options.split(","), Path(directory)


def v2():
    """Where v2 is mounted, or None."""
    return next((d for kind, _, d in mounts() if kind == "cgroup2"), None)


def v1():
    """Where a hierarchy of v1 is mounted in which processes can be put at once, or None."""
    found = [(options, d) for kind, options, d in mounts() if kind == "cgroup"]
    for wanted in ("pids", "freezer", "name=systemd"):
        for options, directory in found:
            if wanted in options and os.access(directory / "cgroup.procs", os.W_OK):
                return directory
    return None


def memory():
    """Where a hierarchy with the memory controller is mounted in which we can set limits, or None."""
    for kind, options, directory in mounts():
        if kind == "cgroup" and "memory" in options and os.access(directory, os.W_OK):
            return directory
    top = v2()
    if top and "memory" in (top / "cgroup.subtree_control").read_text().split():
        return top
    return None


def limit_memory(directory, size):
    """Of a cgroup in a Tree."""
    v1_file = Path(directory) / "memory.limit_in_bytes"
    if v1_file.exists():
        v1_file.write_text(str(size))
    else:
        (Path(directory).parent / "cgroup.subtree_control").write_text("+memory")
        (Path(directory) / "memory.max").write_text(str(size))


def disks():
    """Where a hierarchy is mounted that can limit how fast its processes read, or None."""
    for kind, options, directory in mounts():
        if kind == "cgroup" and "blkio" in options and \
                list(directory.glob("blkio.throttle.read_bps_device")):
            return directory
    top = v2()
    if top and "io" in (top / "cgroup.subtree_control").read_text().split():
        return top
    return None


def limit_disk(directory, device, speed):
    """Of a cgroup in a Tree: bytes a second that it reads of a disk ("254:0")."""
    v1_file = Path(directory) / "blkio.throttle.read_bps_device"
    if v1_file.exists():
        v1_file.write_text(f"{device} {speed}")
    else:
        (Path(directory).parent / "cgroup.subtree_control").write_text("+io")
        (Path(directory) / "io.max").write_text(f"{device} rbps={speed}")


HIERARCHIES = {"v2": v2, "v1": v1}


def enter(directory, argv):
    """A command line that runs argv in a cgroup, by exec: it moves before there is a Python."""
    return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(directory), *map(str, argv)]


class Tree:
    """Cgroups below one of our own; all of them go at the end, and who is left in them is killed."""

    def __init__(self, mount):
        self.mount = Path(mount)
        self.top = self.mount / f"tachbpf-test-{os.getpid()}-{os.urandom(3).hex()}"

    def __enter__(self):
        self.top.mkdir()
        return self

    def make(self, *parts):
        directory = self.top.joinpath(*parts)
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def path(self, directory):
        """As /proc/PID/cgroup has it."""
        return "/" + str(Path(directory).relative_to(self.mount))

    def __exit__(self, *_):
        directories = [self.top, *(p for p in self.top.rglob("*") if p.is_dir())]
        for directory in sorted(directories, key=lambda d: -len(d.parts)):
            remove(directory)


def remove(directory):
    end = time.monotonic() + TIMEOUT
    while directory.exists():
        for pid in (directory / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), 9)
        try:
            directory.rmdir()
        except OSError:         # they are not gone yet
            assert time.monotonic() < end, f"{directory} stays busy"
            time.sleep(0.01)
