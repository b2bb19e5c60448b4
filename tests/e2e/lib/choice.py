# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which interpreters a run covers: all of them, a few, two, or one.

A few are enough to take each path through CPython's layouts once, and none of them has to be
compiled. They are chosen by minor version, from names; nothing here starts an interpreter.
"""
import os
import re

SIZES = ("one", "two", "few", "all")
# One of each way to keep frames: objects on the heap (to 3.10), the data stack with entry marks
# (3.11), with entry frames (3.12), and what the debug offsets say (3.13 on). Of several minors the
# first that is here or can be had: 3.6 and 3.12 are in no suite of Debian's.
MINORS = (("3.6", "3.9"), ("3.11",), ("3.12", "3.14"), ("3.13",), ("3.15",))


def size():
    """What TACHBPF_INTERPRETERS asks for."""
    asked = os.environ.get("TACHBPF_INTERPRETERS") or "few"
    if asked not in SIZES:
        raise SystemExit(f"TACHBPF_INTERPRETERS is one of {', '.join(SIZES)}, not {asked}")
    return asked


def smaller(a, b):
    return min(a, b, key=SIZES.index)


def version(name):
    return [int(n) for n in re.search(r"\d+(\.\d+)+", name)[0].split(".")]


def plain(names, minor):
    """The release build of a minor version: this system's, else Debian's, else pyenv's newest."""
    found = [n for n in names if re.fullmatch(r"(?!ft-|musl-)[a-z]+-%s(\.\d+)?" % re.escape(minor), n)]
    order = {"system": 0, "pyenv": 2}
    found.sort(key=lambda n: (order.get(n.split("-")[0], 1), [-v for v in version(n)], n))
    return found[:1]


def first(found):
    """The first list that is not empty."""
    return next(filter(None, found), [])


def of(names, how_many):
    """The names that a set of this size has."""
    if how_many == "all":
        return set(names)
    releases = [name for minors in MINORS for name in first(plain(names, minor) for minor in minors)]
    if how_many == "few":
        return set(releases)
    if how_many == "two":
        return {*releases[:1], *releases[-1:]}
    return set(([n for n in releases if n.startswith("system-")] or releases[-1:])[:1])
