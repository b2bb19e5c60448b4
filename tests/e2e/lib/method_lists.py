# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The names that the helper reads from CPython's tables in a file, by ../native/list_methods.c."""
import subprocess

from paths import E2E, REPO
from processes import TIMEOUT
from pythons import cc

HELPER = ("elf_methods", "method_names", "elf_slots", "elf_segments")
BASE = ("util", "u64map", "colour", "time")


class MethodLists:
    def __init__(self, scratch):
        user = REPO / "user"
        sources = [user / "elf_helper" / f"{name}.c" for name in HELPER]
        sources += [user / "elf" / "cfi_section.c", *sorted((user / "elf").glob("elf*.c")), *(user / "base" / f"{name}.c" for name in BASE)]
        self.program = cc(scratch / "list_methods", E2E / "native" / "list_methods.c", f"-I{REPO}", f"-I{user}",
                          *sources, "-lz")

    def of(self, path):
        """Address in the file -> name of the function there."""
        lines = subprocess.run([self.program, path], capture_output=True, text=True, check=True,
                               timeout=TIMEOUT).stdout.splitlines()
        return {int(start, 16): name for start, _, name in map(str.split, lines)}
