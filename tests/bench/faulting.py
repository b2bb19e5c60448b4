# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""faulting.py touch|alloc: a round of work for each line of input; its answer: CPU ns, minor faults.

touch  does nothing but fault: memset() over memory that was given back
alloc  makes and drops objects, as a program that allocates much; it computes little
"""
import ctypes
import mmap
import resource
import sys
import time

BYTES = 64 << 20
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
libc.memset.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
AT = libc.mmap(None, BYTES, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
libc.madvise(AT, BYTES, 15)     # MADV_NOHUGEPAGE


def touch():
    for _ in range(8):
        libc.memset(AT, 1, BYTES)
        libc.madvise(AT, BYTES, 4)      # MADV_DONTNEED


def rows(cnt):
    return [{"id": i, "name": "name %d" % i, "tags": [str(i), i * 1.5]} for i in range(cnt)]


def alloc():
    for _ in range(8):
        kept = rows(20000)
        text = ",".join(row["name"] for row in kept)
        parts = [bytearray(100000) for _ in range(40)]
        del kept, text, parts


WORK = {"touch": touch, "alloc": alloc}[sys.argv[1]]
WORK()
print("ready", flush=True)
for _ in sys.stdin:
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    begin = time.process_time_ns()
    WORK()
    print(time.process_time_ns() - begin,
          resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults, flush=True)
