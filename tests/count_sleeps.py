# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs a test program in Python and prints at its end how long it slept, as tests/room_main.c does: count_sleeps.py FILE [ARGUMENT...]"""
import atexit
import os
import runpy
import sys
import time
from pathlib import Path

STEP_S = 0.1            # sleeps up to this long are steps of a loop that waits for an event
real_sleep = time.sleep
test_process = os.getpid()
slept_s = 0.0


def counted_sleep(seconds):
    global slept_s
    slept_s += seconds if seconds > STEP_S else 0
    real_sleep(seconds)


@atexit.register
def print_sum():
    if slept_s and os.getpid() == test_process:
        print(f"{Path(sys.argv[0]).stem}: slept {slept_s:.1f} s")


sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
time.sleep = counted_sleep
runpy.run_path(sys.argv[0], run_name="__main__")
