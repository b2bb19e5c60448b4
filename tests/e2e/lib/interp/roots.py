# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Debian suites as roots of their own: which there are, and how they are made by debootstrap.

Each has its Pythons with their debug builds, shared libraries, headers and
greenlet; no documentation and no package lists.
"""
import os
from dataclasses import dataclass

from .cache import mirror, path_of

# Runs a command inside a root. The mounts live in a namespace of their own and
# go away with the process, however it ends. /tmp is shared, so that targets and
# profiles have the same path inside and outside.
ENTER = ('mount --bind /proc "$0/proc" && mount --bind /tmp "$0/tmp" && '
         'root=$0 && cd / && exec chroot "$root" "$@"')
# The debug builds' programs carry their own debug information.
DPKG = """force-unsafe-io
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/locale/*
path-exclude=/usr/share/man/*
path-exclude=/usr/lib/debug/*
"""
LEFTOVERS = ("usr/share/doc", "usr/share/info", "usr/share/locale", "usr/share/man",
             "usr/lib/debug", "var/cache/apt", "var/lib/apt/lists")


def in_root(root, *argv):
    return ("unshare", "--mount", "sh", "-c", ENTER, root, *argv)


@dataclass(frozen=True)
class Root:
    name: str           # the suite
    pythons: tuple      # minor versions it has

    @property
    def what(self):
        return "Debian packages, a minute or two"

    def packages(self):
        kinds = ("python%s", "libpython%s", "python%s-dev", "python%s-dbg")
        return [kind % v for v in self.pythons for kind in kinds] + ["python3-greenlet"]

    def interpreters(self):
        """(name, program) of each that it promises."""
        for v in self.pythons:
            yield f"{self.name}-{v}", f"/usr/bin/python{v}"
            yield f"{self.name}-{v}-dbg", f"/usr/bin/python{v}-dbg"

    def recipe(self):
        return " ".join([self.name, *self.packages()]) + "\n" + DPKG

    def path(self):
        return path_of(self.name)

    def make(self, workshop):
        root = workshop.path("root")
        os.makedirs(f"{root}/etc/dpkg/dpkg.cfg.d")
        with open(f"{root}/etc/dpkg/dpkg.cfg.d/tachbpf", "w") as cfg:
            cfg.write(DPKG)
        os.chmod(root, 0o755)
        workshop.run("debootstrap", "--variant=minbase", "--include=" + ",".join(self.packages()),
                     self.name, root, mirror())
        for _, program in self.interpreters():
            workshop.run(*in_root(root, program, "-c", "import ctypes, hashlib, threading"))
        for leftover in LEFTOVERS:
            workshop.run("rm", "-rf", "--one-file-system", f"{root}/{leftover}")
        for kept in ("var/cache/apt/archives/partial", "var/lib/apt/lists/partial"):
            os.makedirs(f"{root}/{kept}", exist_ok=True)
        return root


ROOTS = (
    Root("sid", ("3.13", "3.14", "3.15")),
    Root("trixie", ("3.13",)),
    Root("bookworm", ("3.11",)),
    Root("bullseye", ("3.9",)),
)
