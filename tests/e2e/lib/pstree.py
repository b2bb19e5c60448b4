# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What CPython itself says of a process' asyncio tasks: `python -m asyncio pstree PID`."""
import re
import subprocess

from processes import TIMEOUT

MARKS = re.compile(r" \((running|moved meanwhile|not all of it|more may await it|see above|goes on below)\)|, waits for .*")


def run(interpreter, pid):
    """By the same interpreter, which must see the process' files under its own paths."""
    argv = [interpreter.prefix[-1], "-m", "asyncio", "pstree", str(pid)]
    return subprocess.run(["nsenter", "-t", str(pid), "-m", "-r", *argv], cwd="/", text=True,
                          capture_output=True, timeout=10 * TIMEOUT, errors="replace")


def lines(interpreter, pid):
    """The lines of the tree."""
    done = run(interpreter, pid)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def once(shown):
    """The lines without what is below a task that they have shown before."""
    kept, seen, below = [], set(), None
    for line in shown:
        bare = line.lstrip(" │├└─")
        depth = len(line) - len(bare)
        if below is not None and depth > below:
            continue
        below = depth if bare.startswith("(T) ") and bare in seen else None
        seen.add(bare)
        kept.append(line)
    return kept


def of_dump(text):
    """The same lines out of what `tachbpf dump` prints, without our marks."""
    _, found, tree = text.partition(" asyncio task")
    assert found, text
    return [MARKS.sub("", line) for line in tree.partition("\n")[2].splitlines() if "── " in line]


LIKE_MIN = 10       # TASK_LIKE_MIN (look/task_tree.h)


class Node:
    """A line and what is below it."""

    def __init__(self, text):
        self.text, self.below = text, []

    def looks(self):
        """Its lines without the names of tasks."""
        own = "(T)" if self.text.startswith("(T) ") else self.text
        return (own, *(node.looks() for node in self.below))


def parse(shown):
    """The nodes of a tree's first level."""
    root = Node("")
    way = [(-1, root)]
    for line in shown:
        column = line.index("── ") - 1
        while way[-1][0] >= column:
            way.pop()
        node = Node(line[column + 4:])
        way[-1][1].below.append(node)
        way.append((column, node))
    return root.below


def draw(nodes, before=""):
    for node in nodes:
        last = node is nodes[-1]
        yield f"{before}{'└── ' if last else '├── '}{node.text}"
        yield from draw(node.below, before + ("    " if last else "│   "))


def fold(nodes):
    """Many tasks beside each other that look the same are the first of them, and how many more there are."""
    groups = {}
    for node in nodes:
        groups.setdefault(node.looks(), []).append(node)
    kept = []
    for node in nodes:
        group = groups[node.looks()]
        many = len(group) >= LIKE_MIN and node.text.startswith("(T) ")
        if many and node is not group[0]:
            continue
        kept.append(node)
        if many:
            kept.append(Node(f"and {len(group) - 1} more at the same lines"))
        node.below = fold(node.below)
    return kept


def folded(shown):
    """The lines of a tree in which no task is shown twice, as a dump shows them."""
    return list(draw(fold(parse(shown))))
