# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""CPythons that Debian has no package of, built from its source packages.

apt fetches the sources from its own mirror and verifies them down to the archive's
signature. Optimised as released ones are, but not by profile, which takes ten times as long.
"""
import glob
import os
import platform
import tarfile
from dataclasses import dataclass

from .cache import Failed, mirror, path_of

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
CONFIGURE = ("--without-ensurepip", "--disable-test-modules", "OPT=-O2 -DNDEBUG -Wall",
             "CFLAGS=-g0")
# Extension modules that would be built or not as this machine has their libraries.
UNWANTED = ("_bz2 _crypt _curses _curses_panel _dbm _gdbm _hashlib _lzma _sqlite3 _ssl _tkinter "
            "_uuid _zstd nis ossaudiodev readline spwd")
# musl's compiler has no libraries but libc, and does not know its own name.
MUSL_UNWANTED = " _ctypes zlib"
MUSL_CC = """#!/bin/sh
case "$*" in *print-multiarch*) echo %s-linux-musl; exit ;; esac
exec musl-gcc "$@"
"""


@dataclass(frozen=True)
class Build:
    name: str           # also of the interpreter
    suite: str          # whose source package it is
    package: str
    program: str        # below bin/
    flags: tuple = ()   # for configure
    musl: bool = False
    optional: bool = False  # made only when asked for by name: not every mirror has its source

    @property
    def what(self):
        return f"built from {self.suite}'s {self.package}, a few minutes of CPU"

    def recipe(self):
        return "\n".join([self.suite, self.package, self.program, *CONFIGURE, *self.flags,
                          self.unwanted(), MUSL_CC if self.musl else "", ""])

    def unwanted(self):
        return UNWANTED + (MUSL_UNWANTED if self.musl else "")

    def interpreter(self):
        return os.path.join(path_of(self.name), "bin", self.program)

    def make(self, workshop):
        source = workshop.path("source")
        unpack(self.fetch(workshop), source)
        with open(f"{source}/Modules/Setup.local", "a") as setup:
            setup.write(f"\n*disabled*\n{self.unwanted()}\n")
        flags = [*CONFIGURE, *self.flags, "--prefix=" + path_of(self.name)]
        if self.musl:
            flags.append("CC=" + write_musl_cc(workshop))
        workshop.run("./configure", *flags, cwd=source)
        workshop.run("make", cwd=source)
        workshop.run("make", "altinstall", "DESTDIR=" + workshop.path("dest"),
                     "COMPILEALL_OPTS=-j1", cwd=source)
        finished = workshop.path("dest") + path_of(self.name)
        workshop.run(os.path.join(finished, "bin", self.program), "-c",
                     "import hashlib, json, threading" + ("" if self.musl else ", ctypes, zlib"))
        return finished

    def fetch(self, workshop):
        """The source package's tar file. apt's state and lists are ours, not the machine's."""
        apt = workshop.path("apt")
        for directory in ("state/lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(apt, directory))
        with open(f"{apt}/sources.list", "w") as sources:
            sources.write(f"deb-src [signed-by={KEYRING}] {mirror()} {self.suite} main\n")
        options = {"Dir::State": f"{apt}/state", "Dir::Cache": f"{apt}/cache",
                   "Dir::State::status": "/dev/null", "Dir::Etc::sourceparts": "/dev/null",
                   "Dir::Etc::sourcelist": f"{apt}/sources.list", "APT::Sandbox::User": "root"}
        argv = ["apt-get", *(f"-o{key}={value}" for key, value in options.items())]
        workshop.run(*argv, "update", cwd=apt)
        try:
            workshop.run(*argv, "source", "--download-only", "--tar-only", "--only-source",
                         self.package, cwd=apt)
            found, = glob.glob(f"{apt}/*.orig.tar.*[!c]")       # not the .asc beside it
        except (Failed, ValueError):
            raise Failed(f"the mirror has no source of {self.suite}'s {self.package}, "
                         f"see {workshop.log.name}") from None
        return found


def unpack(tar, directory):
    """Without the one directory that everything in it is below."""
    with tarfile.open(tar) as archive:
        archive.extractall(directory + ".tar")
    top, = os.listdir(directory + ".tar")
    os.rename(os.path.join(directory + ".tar", top), directory)


def write_musl_cc(workshop):
    path = workshop.path("musl-cc")
    with open(path, "w") as cc:
        cc.write(MUSL_CC % platform.machine())
    os.chmod(path, 0o755)
    return path


BUILDS = (
    Build("ft-3.13", "trixie", "python3.13", "python3.13t", ("--disable-gil",)),
    Build("trace-refs-3.11.2", "bookworm", "python3.11", "python3.11", ("--with-trace-refs",)),
    Build("musl-3.11.2", "bookworm", "python3.11", "python3.11", musl=True),
    Build("ft-3.14", "sid", "python3.14", "python3.14t", ("--disable-gil",), optional=True),
    Build("ft-3.15", "sid", "python3.15", "python3.15t", ("--disable-gil",), optional=True),
)
