# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Child processes that are not as usual: forked by a thread that is not the main one, and
one whose main thread ends first."""
import ctypes
import os
import threading
import time

from truth import leaf

SYS_EXIT = 60       # of this thread only; x86-64


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
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


def leave_behind(seconds):
    libc = ctypes.CDLL(None)
    thread = threading.Thread(target=leaderless, args=(seconds,))
    thread.start()
    libc.syscall(SYS_EXIT, 0)


def run(seconds):
    leaf()
    pids = {}
    thread = threading.Thread(target=worker, args=(pids, seconds / 2))
    thread.start()
    thread.join()
    pid = os.fork()
    if not pid:
        leave_behind(seconds / 2)
    pids["leaderless"] = pid
    os.waitpid(pid, 0)
    return {"pids": pids, "each_s": seconds / 2}
