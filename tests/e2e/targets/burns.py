# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Quiet, until a line on standard input says which function is to use so much CPU time.

"early 0.5" burns in early(), "late 2" in late(); "child 0.5" starts a process that burns in
gone(), and waits for its end.
"""
import subprocess
import sys
import time


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def early(seconds):
    burn(seconds)


def late(seconds):
    burn(seconds)


def gone(seconds):
    burn(seconds)


def child(seconds):
    subprocess.check_call([sys.executable, __file__, "gone", str(seconds)])


def main():
    if sys.argv[1] == "gone":
        gone(float(sys.argv[2]))
        return
    print("ready", flush=True)
    for line in sys.stdin:
        name, seconds = line.split()
        globals()[name](float(seconds))
        print("done", flush=True)


main()
