# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""play_chains.py TRUTH DIRECTORY WORK_MS CHAIN...: plays chains of chains.c, whose module is in DIRECTORY.

Shakes hands as all targets do; at the CHAIN "half" it does so once more. Notes of each chain when its
leaf worked, in which thread; the Python functions here are those that links call, and each goes on with
the rest of the chain.
"""
import gc
import json
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[2])

import chains  # noqa: E402

step = chains.step
HALF = "half"
work_s = float(sys.argv[3]) / 1e3
times = []                      # of a leaf in Python: its thread, start, end


def callback(rest):
    return step(rest)


class Method:
    def method(self, rest):
        return step(rest)


def outer(rest):
    return middle(rest)


def middle(rest):
    return innermost(rest)


def innermost(rest):
    return step(rest)


def sorting(rest):
    return sorted([rest], key=key)


def key(rest):
    return step(rest)


def mapping(rest):
    return list(map(callback, [rest]))


class Made:
    def __init__(self, rest):
        step(rest)


def making(rest):
    return Made(rest)


class Read:
    @property
    def value(self):
        return step(self.rest)


def reading(rest):
    read = Read()
    read.rest = rest
    return read.value


class Item:
    def __getitem__(self, rest):
        return step(rest)


def subscribing(rest):
    return Item()[rest]


def generator(rest):
    yield step(rest)


def looping(rest):
    for x in generator(rest):
        pass


async def coroutine(rest):
    return await awaited(rest)


async def awaited(rest):
    return step(rest)


class Dropped:
    def __init__(self, rest):
        self.rest = rest

    def __del__(self):
        step(self.rest)


def burning(rest):
    end, x = time.process_time() + work_s, 0
    times[:] = [chains.thread()] + [time.monotonic()] * 2
    while time.process_time() < end:
        for i in range(500):
            x += i & 3
    times[2] = time.monotonic()


def ctypes_callback(rest):
    return step(rest)


def through(rest):
    return exported(rest)


given = {"callback": callback, "method": Method().method, "outer": outer, "sorting": sorting,
         "mapping": mapping, "making": making, "reading": reading, "subscribing": subscribing,
         "generator": generator, "looping": looping, "coroutine": coroutine, "Dropped": Dropped,
         "burning": burning, "through": through}
try:
    import ctypes
except ImportError:             # musl's
    has_ctypes = False
else:
    has_ctypes = True
    exported = ctypes.PyDLL(chains.__file__).ch_exported
    exported.argtypes, exported.restype = [ctypes.c_char_p], ctypes.c_long
    pointer = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_char_p)(ctypes_callback)
    given["pointer"] = ctypes.cast(pointer, ctypes.c_void_p).value


def play(chain):
    step(chain)


def main():
    truth, played = sys.argv[1], []
    gc.disable()
    chains.use(given)
    chains.work(int(work_s * 1e9))
    print("ready", flush=True)
    if not sys.stdin.readline():
        sys.exit("the test went away")
    for chain in sys.argv[4:]:
        if chain == HALF:
            print(HALF, flush=True)
            sys.stdin.readline()
            continue
        if not has_ctypes and ("c" in chain or "C" in chain):
            continue
        del times[:]
        play(chain.encode())
        tid, start, end = chains.last()
        if times:
            tid, start, end = times[0], *(int(t * 1e9) for t in times[1:])
        played.append({"chain": chain, "tid": tid, "start_ns": start, "end_ns": end})
    with open(truth + ".new", "w") as out:
        json.dump({"pid": os.getpid(), "version": list(sys.version_info[:3]), "played": played}, out)
    os.rename(truth + ".new", truth)
    print("done", flush=True)
    sys.stdin.readline()


main()
