# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that C starts (libforeign.c, compiled to libforeign.so beside it).

One calls into Python twice, with a thread state that is made for the call and deleted
behind it; one never does.
"""
import ctypes
import os
import time

from truth import leaf, tid

seen = []


def from_c():
    leaf()
    seen.append(tid())
    end = time.thread_time() + seconds_each
    while time.thread_time() < end:
        for i in range(2000):
            i & 3


class Job(ctypes.Structure):
    _fields_ = [("call", ctypes.c_void_p), ("seconds", ctypes.c_double)]


def run(seconds):
    global seconds_each
    seconds_each = seconds / 5
    call = ctypes.CFUNCTYPE(None)(from_c)
    body = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libforeign.so"))
    libc = ctypes.CDLL(None)
    jobs = [Job(ctypes.cast(call, ctypes.c_void_p), seconds_each), Job(None, seconds_each)]
    for job in jobs:
        thread = ctypes.c_ulong()
        assert libc.pthread_create(ctypes.byref(thread), None, body.foreign,
                                   ctypes.byref(job)) == 0
        libc.pthread_join(thread, None)
    return {"tids": seen, "each_s": seconds_each}
