# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Stops at two lines of a function, and says at each which stack there is, as traceback sees it."""
import json
import sys
import traceback


def stop():
    stack = traceback.extract_stack()[:-1]
    print(json.dumps([[f.name, f.lineno] for f in reversed(stack)]), flush=True)
    sys.stdin.readline()


def work():
    stop()
    stop()


def outer():
    for _ in range(1):
        work()


if __name__ == "__main__":
    outer()
