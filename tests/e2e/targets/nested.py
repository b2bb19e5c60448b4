# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""nested.py TRUTH: the main thread and another one each run an interpreter inside the main one; "ready" when both wait
there. Python 3.8 and later."""
import os
import sys
import threading

if sys.version_info >= (3, 13):
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters

WAIT = """
import os, time
def nested():
    os.write(%d, b"ready\\n")
    time.sleep(10000)
nested()
"""


def enter(number, said_to):
    interpreters.run_string(MADE[number], WAIT % said_to)


def begin(said_to):
    enter(0, said_to)


def main():
    read, write = os.pipe()
    threading.Thread(target=begin, args=(write,), daemon=True).start()
    os.read(read, 1)
    enter(1, 1)


MADE = [interpreters.create(), interpreters.create()]
main()
