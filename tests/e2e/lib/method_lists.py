# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the helper reads from files without symbols: the names in CPython's tables, by ../native/list_methods.c, and
which function a part of one belongs to, by ../native/list_parts.c."""
import subprocess

from paths import E2E, REPO
from processes import TIMEOUT
from pythons import cc

HELPER = ("elf_methods", "method_names", "elf_slots", "elf_segments")
BASE = ("util", "u64map", "colour", "time")


class Lists:
    """A program that prints a line for each function, and the sources of the helper that it needs."""

    def __init__(self, scratch, program, *helper):
        user = REPO / "user"
        sources = [user / "elf_helper" / f"{name}.c" for name in helper]
        sources += [*sorted((user / "elf").glob("elf*.c")), *sorted((user / "elf").glob("cfi*.c")),
                    *(user / "base" / f"{name}.c" for name in BASE)]
        self.program = cc(scratch / program, E2E / "native" / f"{program}.c", f"-I{REPO}", f"-I{user}", *sources, "-lz")

    def lines(self, path):
        """(address of the function, what is printed of it)"""
        lines = subprocess.run([self.program, path], capture_output=True, text=True, check=True,
                               timeout=TIMEOUT).stdout.splitlines()
        return [(int(start, 16), said) for start, _, said in map(str.split, lines)]


class MethodLists(Lists):
    def __init__(self, scratch):
        super().__init__(scratch, "list_methods", *HELPER)

    def of(self, path):
        """Address in the file -> name of the function there."""
        return dict(self.lines(path))


class PartLists(Lists):
    def __init__(self, scratch):
        super().__init__(scratch, "list_parts", "elf_parts")

    def of(self, path):
        """Address of a part -> address of its function."""
        return {start: int(function, 16) for start, function in self.lines(path)}
