# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds the CPythons of this machine: in PATH, of pyenv (PYENV_ROOT), in a Debian sid root
(TACHBPF_SID, else the one that interpreters.py prepared). Knows where their headers and
binaries are; nothing of layouts."""
import os
import pathlib
import shutil
import subprocess

import interpreters

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "e2e"
MINORS = range(11, 16)
ASK = ("import sys, sysconfig as s; print(s.get_path('include'), s.get_path('platinclude'), "
       "sys.executable, s.get_config_var('LIBDIR'), s.get_config_var('INSTSONAME'), sep='\\n')")


class Python:
    """Headers, the files that may hold the interpreter, and how to run it."""

    def __init__(self, name, includes, images, root=None):
        self.name, self.includes, self.images, self.root = name, includes, images, root

    def argv(self):
        if self.root:
            return ["chroot", self.root, "/" + os.path.relpath(self.name, self.root)]
        return [self.name]


def asked(python):
    out = subprocess.run([python, "-c", ASK], stdout=subprocess.PIPE, check=True,
                         universal_newlines=True).stdout.splitlines()
    include, plat, exe, libdir, soname = out
    return Python(python, [include, plat], [os.path.realpath(exe), "%s/%s" % (libdir, soname)])


def in_path():
    # A pyenv shim runs only when its version is selected; pyenv's are found below.
    path = os.pathsep.join(d for d in os.environ.get("PATH", "").split(os.pathsep)
                           if "pyenv" not in d)
    for minor in MINORS:
        python = shutil.which("python3.%d" % minor, path=path)
        if python:
            yield asked(python)


def in_pyenv():
    root = pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv")
    for minor in MINORS:
        for python in sorted(root.glob("versions/3.%d.*/bin/python3.%d" % (minor, minor))):
            yield asked(str(python))


def in_sid():
    root = os.environ.get("TACHBPF_SID") or interpreters.sid_root()
    for minor in MINORS:
        name = "python3.%d" % minor
        exe = "%s/usr/bin/%s" % (root, name)
        if os.path.exists(exe):
            lib = "%s/usr/lib/x86_64-linux-gnu/lib%s.so.1.0" % (root, name)
            includes = ["%s/usr/include/%s" % (root, name),
                        "%s/usr/include/x86_64-linux-gnu/%s" % (root, name)]
            yield Python(exe, includes, [exe, lib], root)


def found():
    pythons = {}
    for p in [*in_path(), *in_pyenv(), *in_sid()]:
        pythons[os.path.realpath(p.name)] = p
    return list(pythons.values())


def cc(out, source, *flags):
    subprocess.run(["cc", "-O1", "-w", "-std=gnu11", "-D_GNU_SOURCE", "-o", str(out),
                    *map(str, flags), str(HERE / source)], check=True)
    return out


def cc_with_cpython(out, source):
    """Compile source together with user/cpython."""
    sources = sorted((ROOT / "user" / "cpython").glob("*.c"))
    return cc(out, source, "-I%s" % ROOT, "-I%s" % (ROOT / "user"), *sources)
