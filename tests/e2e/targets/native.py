# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that Python knows nothing of: pthread_create on libc's atoi, over 32 MB of digits."""
import ctypes
import time

from truth import tick

DIGITS = ctypes.create_string_buffer(b"0" * (32 << 20))


def run(seconds):
    libc = ctypes.CDLL(None)
    start = time.process_time() - time.thread_time()
    while time.process_time() - time.thread_time() - start < seconds:
        thread = ctypes.c_ulong()
        assert libc.pthread_create(ctypes.byref(thread), None, libc.atoi, DIGITS) == 0
        libc.pthread_join(thread, None)
        tick()
    return {"cpu_s": time.process_time() - time.thread_time() - start}
