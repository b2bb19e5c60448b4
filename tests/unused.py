#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""unused.py [DIR]: whatever a file of the library exports, a program or another file of it needs.

What only tests call is not part of the program, and what only its own file calls is static. Read
from object files in DIR, as the linker sees them, and from headers for their inline functions.
"""
import re
import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
MAINS = ("main.o", "agent_main.o", "elf_main.o")
EXCEPTIONS = {}
INLINE = re.compile(r"^static (?:inline|__always_inline)[^;(]*?\b(\w+)\(", re.M)


def unused(lines):
    """[(member, symbol)] of the output of nm -A of an archive and of other objects: what an archive's
    member defines and no other file needs."""
    home, needed = {}, set()
    for line in lines:
        where, *_, kind, symbol = line.split()
        archive, _, member = where.rstrip(":").partition(":")
        member = member.partition(":")[0]
        if kind == "U":
            needed.add(symbol)
        elif kind in "TDBRCVW" and ".a:" in where:
            home[symbol] = member
    return sorted((member, symbol) for symbol, member in home.items() if symbol not in needed)
