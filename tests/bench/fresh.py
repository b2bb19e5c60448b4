# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""fresh.py same|fresh: burn CPU in the same function, or in one made anew every 200 us or so."""
import sys

TEXT = "def run_%d():\n    for i in range(5000):\n        i & 3\n"


def make(i):
    scope = {}
    exec(compile(TEXT % i, "fresh_%d.py" % i, "exec"), scope)
    return scope["run_%d" % i]


def main(fresh):
    i, run = 0, make(0)
    print("ready", flush=True)
    while True:
        if fresh:
            i += 1
            run = make(i)
        run()


main(sys.argv[1] == "fresh")
