# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A program that is always busy, in few functions, for the tests of live views."""
import subprocess

from processes import kill

# work() calls hot() and, for less time, rest(), which recurses; a second thread waits for the GIL.
PROGRAM = """
import sys, threading
def fact(n):
    return n * fact(n - 1) if n else 1
def rest():
    for _ in range(50): fact(30)
def hot():
    n = 0
    while n < 400000: n += 1
def work():
    hot()
    rest()
def second():
    while True: work()
print("ready", flush=True)
if sys.argv[1:] == ["threads"]:
    threading.Thread(target=second, name="second", daemon=True).start()
while True: work()
"""


class Busy:
    """The program under an interpreter, as a context manager. Arguments: "threads"."""

    def __init__(self, interpreter, *argv):
        self.process = subprocess.Popen(interpreter.command("-c", PROGRAM, *argv), stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self.process.pid

    def __exit__(self, *_):
        kill(self.process)
