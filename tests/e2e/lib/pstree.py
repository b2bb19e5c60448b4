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
