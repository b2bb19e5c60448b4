# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Functions made by exec, run once and dropped, as fast as it goes; their addresses come again.

    python torture.py OUT SECONDS

OUT gets the moments (CLOCK_MONOTONIC, ns, 64 bits each) at which number 0 began and
ended, number 1, and so on. All numbers have seven digits, so that all names are of
one length. There are five kinds: see KINDS.
"""
import array
import sys
import time

LOOP = "    for i in range(400):\n        i & 3\n"
KINDS = (
    # a file and a function of its own
    ("made_%(n)s.py", "def made_%(n)s():\n" + LOOP + "run = made_%(n)s\n"),
    # a function of its own in one file
    ("made.py", "def made_%(n)s():\n" + LOOP + "run = made_%(n)s\n"),
    # one function name, a file of its own
    ("made_%(n)s.py", "def run():\n" + LOOP),
    # a lambda
    ("made_%(n)s.py", "run = lambda: sum(i & 3 for i in range(300))\n"),
    # a method, and a function within it: found again by the qualified name
    ("made.py", "class Made:\n    def made_%(n)s(self):\n" + LOOP.replace("    ", "        ") +
     "run = Made().made_%(n)s\n"),
)


def now():
    return int(time.monotonic() * 1e9)


def main(out, seconds):
    clock = getattr(time, "monotonic_ns", now)
    moments = array.array("q")
    end = clock() + int(float(seconds) * 1e9)
    number = 0
    while True:
        file, text = KINDS[number % len(KINDS)]
        name = {"n": "%07d" % number}
        scope = {}
        exec(compile(text % name, file % name, "exec"), scope)
        run = scope.pop("run")
        begin = clock()
        run()
        moment = clock()
        run = scope = None
        moments.append(begin)
        moments.append(moment)
        if moment > end:
            break
        number += 1
    with open(out, "wb") as f:
        moments.tofile(f)


main(*sys.argv[1:])
