# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""events.py TRUTH [storm=N] [library=PATH]: does countable things in functions of their own, and
keeps a book of what each function did."""
import gc
import json
import mmap
import os
import resource
import sys
import threading
import time

PAGES = 300
book = {}


def usage():
    return resource.getrusage(resource.RUSAGE_THREAD)


def opens_many():
    for _ in range(200):
        os.close(os.open("/dev/null", os.O_RDONLY))
    return 200


def opens_few():
    for _ in range(30):
        os.close(os.open("/dev/zero", os.O_RDONLY))
    return 30


def syncs():
    fd = os.open("/dev/null", os.O_RDWR)
    for _ in range(40):
        try:
            os.fsync(fd)                # the device has none: what counts is the call
        except OSError:
            pass
    os.close(fd)
    return 40


def starts():
    for _ in range(25):
        thread = threading.Thread(target=str)
        thread.start()
        thread.join()
    return 25


def touches():
    """The system's own count of minor faults, of this thread and between two lines."""
    memory = mmap.mmap(-1, PAGES * mmap.PAGESIZE)
    before = usage().ru_minflt
    for page in range(PAGES):
        memory[page * mmap.PAGESIZE] = 1
    return usage().ru_minflt - before


def sleeps():
    before = usage()
    for _ in range(50):
        time.sleep(0.001)
    after = usage()
    return after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw


def collects():
    for _ in range(15):
        gc.collect()
    return 15


def storms(calls):
    getppid = os.getppid
    for _ in range(calls):
        getppid()
    return calls


def calls_library(path):
    import ctypes
    library = ctypes.CDLL(path)
    for _ in range(60):
        library.probed_work()
    return 60


def main():
    plan = dict(word.split("=", 1) for word in sys.argv[2:])
    gc.disable()
    print("ready", flush=True)
    sys.stdin.readline()
    if "storm" in plan:
        book["storms"] = storms(int(plan["storm"]))
    elif "library" in plan:
        book["calls_library"] = calls_library(plan["library"])
    else:
        for work in (opens_many, opens_few, syncs, starts, touches, sleeps, collects):
            book[work.__name__] = work()
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump({"version": sys.version_info[:2], "book": book}, out)
    print("done", flush=True)
    sys.stdin.read()


main()
