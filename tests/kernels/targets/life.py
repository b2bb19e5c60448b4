# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A process that burns CPU, forks a child that does, and starts a program that does.

    life.py TRUTH SECONDS [NAME]

With NAME it is the program: it burns in the function of that name. Each says what it is
and what it burnt, in TRUTH.NAME.
"""
import json
import os
import subprocess
import sys
import time


def burn(seconds):
    x = 0
    end = time.process_time() + seconds
    while time.process_time() < end:
        for i in range(5000):
            x += i & 3
    return x


def parent_burns(seconds):
    return burn(seconds)


def child_burns(seconds):
    return burn(seconds)


def program_burns(seconds):
    return burn(seconds)


def live(path, name, seconds):
    globals()[name](seconds)
    with open("%s.%s" % (path, name), "w") as out:
        json.dump({"pid": os.getpid(), "cpu_s": time.process_time()}, out)


def main(path, seconds, name=None):
    if name:
        live(path, name, seconds)
        return 0
    live(path, "parent_burns", seconds)
    child = os.fork()
    if not child:
        live(path, "child_burns", seconds)
        os._exit(0)
    os.waitpid(child, 0)
    return subprocess.call([sys.executable, "-B", __file__, path, str(seconds), "program_burns"])


sys.exit(main(sys.argv[1], float(sys.argv[2]), *sys.argv[3:]))
