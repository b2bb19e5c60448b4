# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""native_stack.py DIRECTORY PYTHON NATIVE: burn CPU for ever under so many frames of Python and of C.

The C functions are those of targets/chains, whose module is in DIRECTORY; what starts a program and
the call from Python to C come to them. "ready" on stdout.
"""
import sys

sys.path.insert(0, sys.argv[1])

import chains  # noqa: E402

KINDS = b"rvaf"         # without a frame pointer, with one, of unknown size


def work(native):
    chain = bytes(KINDS[i % len(KINDS)] for i in range(native)) + b"."
    print("ready", flush=True)
    chains.step(chain)


def recurse(n, native):
    if n == 0:
        work(native)
    else:
        recurse(n - 1, native)


def main():
    chains.work(1 << 62)
    # <module>, main, the last recurse and work are four of the frames
    recurse(int(sys.argv[2]) - 4, int(sys.argv[3]))


main()
