# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A root as Alpine's are: musl is its only C library. Its Python is the musl build of the
interpreters, its musl is this machine's."""
import shutil

from interp import builds, cache

LINKER = "/lib/ld-musl-x86_64.so.1"
PYTHON = "/usr/bin/python3.11"
BUILD, = (b for b in builds.BUILDS if b.name == "musl-3.11.2")


def prepare():
    """Make its Python, if it is not in the cache. cache.Failed: it cannot be had."""
    cache.prepare(BUILD, cache.Jobs(1))
    return cache.path_of(BUILD.name)


def furnish(root):
    """Puts the C library and places to mount into a Fresh of what prepare() returns."""
    for name in ("proc", "sys", "dev", "tmp", "etc"):
        root.path(name).mkdir(parents=True)
    root.path("/usr").symlink_to(".")       # CPython does not find its library in /lib
    root.path(LINKER).parent.mkdir(parents=True)
    shutil.copy(LINKER, root.path(LINKER))
