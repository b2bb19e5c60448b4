# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""children.py PIDS SECONDS: child processes that are not as usual, each burning so long.

One is forked by a thread that is not the main one, one's main thread ends first.
"""
import json
import os
import sys
import threading
import time

try:
    import ctypes
except ImportError:         # a build without libffi
    ctypes = None

SYS_EXIT = 60       # of this thread only; x86-64
clock = getattr(time, "thread_time", time.process_time)     # 3.6 has no such clock


def burn(seconds):
    end = clock() + seconds
    while clock() < end:
        for i in range(2000):
            i & 3


def forked(seconds):
    burn(seconds)
    os._exit(0)


def worker(pids, seconds):
    pid = os.fork()
    if not pid:
        forked(seconds)
    pids["forked"] = pid
    os.waitpid(pid, 0)


def leaderless(seconds):
    burn(seconds)
    os._exit(0)


def leave_behind(libc, seconds):
    thread = threading.Thread(target=leaderless, args=(seconds,))
    thread.start()
    libc.syscall(SYS_EXIT, 0)


def main(path, seconds):
    pids = {}
    thread = threading.Thread(target=worker, args=(pids, seconds))
    thread.start()
    thread.join()
    if ctypes:
        libc = ctypes.CDLL(None)    # before: glibc aborts if two threads of a child load at once
        pid = os.fork()
        if not pid:
            leave_behind(libc, seconds)
        pids["leaderless"] = pid
        status = os.waitpid(pid, 0)[1]
        assert not status, status
    with open(path, "w") as out:
        json.dump(pids, out)


main(sys.argv[1], float(sys.argv[2]))
