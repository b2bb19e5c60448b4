# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""finalizers.py TRUTH MODE...: Python functions that the collector calls, which take their time.

One after the other, each in busy(): "wait" says "ready" and waits for a line of its input there; "work" computes
and sleeps. At the beginning "ready", at the end "done".
"""
import gc
import sys
import time
import weakref

SECONDS = 0.15
MODES = sys.argv[2:]


def say(word):
    print(word, flush=True)


def busy():
    for mode in MODES:
        if mode == "wait":
            say("ready")
            sys.stdin.readline()
            continue
        end = time.process_time() + SECONDS
        while time.process_time() < end:
            sum(range(100))
        time.sleep(SECONDS)


class Cycle:
    def __init__(self):
        self.me = self


class Finalized(Cycle):
    def __del__(self):
        busy()


def passed_on(function):
    def wrapper(*args):
        function(*args)
    return wrapper


class Decorated(Cycle):
    @passed_on
    def __del__(self):
        busy()


def gone(ref):
    busy()


def closing():
    try:
        yield
    finally:
        busy()


def referred():
    found = Cycle()
    found.ref = None
    KEPT.append(weakref.ref(found, gone))
    return found


def finalize():
    found = Cycle()
    weakref.finalize(found, busy)
    return found


def suspended():
    found = Cycle()
    found.generator = closing()
    next(found.generator)
    return found


KEPT = []
MAKERS = (Finalized, Decorated, referred, finalize, suspended)


def collect(make):
    made = make()
    del made
    gc.collect()


def main():
    gc.disable()
    if "work" in MODES:
        say("ready")
        sys.stdin.readline()
    for make in MAKERS:
        collect(make)
    say("done")
    sys.stdin.readline()


main()
