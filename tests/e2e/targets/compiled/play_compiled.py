# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Python and compiled functions that call each other: play_compiled.py TRUTH DIRECTORY OUTERMOST HOW.

DIRECTORY has the module of compiled.c. OUTERMOST is Python or compiled. HOW: "stop" says at each of
INNER_LINES what stack there is, as CPython's traceback sees it, and goes on when it is told to; "nap"
sleeps there, again and again.
"""
import json
import os
import sys
import time
import traceback

sys.path[:0] = [sys.argv[2], os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
import compiled  # noqa: E402
from truth import tid  # noqa: E402

INNER_LINES, NAPS, NAP_S = [101, 107], 30, 0.01


def seen():
    return [[f.name, f.lineno] for f in reversed(traceback.extract_stack()[:-2])]


def stop():
    with open(sys.argv[1], "w") as f:
        json.dump({"tid": tid(), "stack": seen()}, f)
    print("here", flush=True)
    sys.stdin.readline()


def nap():
    time.sleep(NAP_S)


def middle():
    if sys.argv[4] == "stop":
        compiled.run("inner", 100, INNER_LINES, stop)
    else:
        compiled.run("inner", 100, INNER_LINES * NAPS, nap)


def outer():
    compiled.run("outer", 40, [44], middle)


print("ready", flush=True)
sys.stdin.readline()
if sys.argv[3] == "compiled":
    compiled.run_in_thread("outermost", 1, [9], outer)
else:
    outer()
print("done", flush=True)
sys.stdin.readline()
