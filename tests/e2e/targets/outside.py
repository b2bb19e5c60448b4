# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""CPU time outside Python: a third each for Python, for two threads of C (liboutside.c, compiled to
liboutside.so beside it) as a BLAS has them, and for a program with a thread for each job."""
import ctypes
import os
import threading
import time

from truth import leaf, tick

NAMES = (b"blas", b"a\x1b[1;\xff>")     # the second is hostile


class Job(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 16), ("seconds", ctypes.c_double),
                ("tid", ctypes.c_long), ("cpu_s", ctypes.c_double), ("thread", ctypes.c_void_p)]


def burn(seconds):
    leaf()
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(2000):
            i & 3


def job():
    for i in range(100):
        i & 3


def run(seconds):
    lib = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "liboutside.so"))
    jobs = [Job(name, seconds / 6) for name in NAMES]
    for j in jobs:
        assert lib.begin(ctypes.byref(j)) == 0
    burn(seconds / 3)
    for j in jobs:
        lib.end(ctypes.byref(j))
    threads, end = 0, time.process_time() + seconds / 3
    while time.process_time() < end:
        thread = threading.Thread(target=job)
        thread.start()
        thread.join()
        threads += 1
        tick()
    return {"native": [{"tid": j.tid, "cpu_s": j.cpu_s} for j in jobs], "threads": threads}
