#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""lines.py [TREE]: no line of C has more than 100 columns, and no file of user/ or bpf/ more than 600 lines.

A tab ends at a multiple of 8 columns. Each line of output is one line, or one file, that is too long.
"""
import sys
from pathlib import Path

COLUMNS, LINES, TAB = 100, 600, 8
# Files that may have more lines, and why.
LONGER = {
    "bpf/abi.h": "all that the kernel's side and user space tell each other",
}
PLACES = ("bpf", "user", "tests/unit", "tests/hostbpf", "tests/bpf", "tests/fuzz", "tests/bench")


def complaints(tree):
    for place in PLACES:
        for path in sorted(p for p in (Path(tree) / place).rglob("*.[ch]")):
            name = path.relative_to(tree).as_posix()
            lines = path.read_text(encoding="utf-8").splitlines()
            for number, line in enumerate(lines, 1):
                if len(line.expandtabs(TAB)) > COLUMNS:
                    yield f"{name}:{number}: {len(line.expandtabs(TAB))} columns; at most {COLUMNS}"
            if len(lines) > LINES and not place.startswith("tests") and name not in LONGER:
                yield f"{name}: {len(lines)} lines; at most {LINES}"


def main():
    found = list(complaints(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) or f"no line has more than {COLUMNS} columns, no file more than {LINES} lines")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
