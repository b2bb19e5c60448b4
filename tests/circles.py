#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""circles.py [ARCHIVE]: no two files of the library call each other, however long the way round.

Says it of object files, as the linker sees them: a call that no include shows counts, too.
"""
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

ARCHIVE = Path(__file__).resolve().parents[1] / "libtachbpf.a"


def links(lines):
    """member -> {member it needs: a symbol}, of the output of nm -A."""
    home, needs = {}, defaultdict(set)
    for line in lines:
        _, member, what = line.split(":", 2)
        *_, kind, symbol = what.split()
        if kind == "U":
            needs[member].add(symbol)
        elif kind in "TDBRCVW":
            home.setdefault(symbol, member)
    return {member: {home[s]: s for s in sorted(symbols) if home.get(s, member) != member}
            for member, symbols in needs.items()}


def reached(graph, start):
    seen, todo = set(), [start]
    while todo:
        for member in graph.get(todo.pop(), ()):
            if member not in seen:
                seen.add(member)
                todo.append(member)
    return seen


def complaints(graph):
    reach = {member: reached(graph, member) for member in graph}
    for member in sorted(graph):
        for other, symbol in sorted(graph[member].items()):
            if member in reach.get(other, ()):
                yield f"{member} needs {symbol} of {other}, which needs {member} in turn"


def main():
    archive = sys.argv[1] if len(sys.argv) > 1 else ARCHIVE
    listed = subprocess.run(["ar", "t", archive], capture_output=True, text=True, check=True)
    twice = [name for name, cnt in Counter(listed.stdout.split()).items() if cnt > 1]
    lines = subprocess.run(["nm", "-A", archive], capture_output=True, text=True, check=True)
    found = [f"{name}: two files have this name" for name in twice]
    found += complaints(links(lines.stdout.splitlines()))
    print("\n".join(found) or f"no circle among {len(set(listed.stdout.split()))} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
