# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pingpong.py SECONDS DEPTH: pingpong.c in Python, under a stack of that depth. Prints rounds."""
import os
import sys
import time

SECONDS, DEPTH = float(sys.argv[1]), int(sys.argv[2])


def under(depth, work):
    return work() if depth <= 0 else under(depth - 1, work)


def main():
    there, back = os.pipe(), os.pipe()

    def answer():
        while os.write(back[1], os.read(there[0], 1)):
            pass

    def ask():
        end, rounds = time.monotonic() + SECONDS, 0
        while time.monotonic() < end:
            os.write(there[1], b"x")
            os.read(back[0], 1)
            rounds += 1
        return rounds

    child = os.fork()
    if not child:
        under(DEPTH - 2, answer)
    print("ready", flush=True)
    sys.stdin.readline()
    print(under(DEPTH - 2, ask), flush=True)
    os.kill(child, 9)
    os.waitpid(child, 0)


main()
