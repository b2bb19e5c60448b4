# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""traced.py LIBRARY ["fork"|"sleep"|"change"|"always" ROUTE]: two threads work for different spans, and say so by trace_writer.c.

LIBRARY "-": the executable has the writer. It publishes a process context (OTEP 4719) as an SDK does.
Whoever is in work_a is in trace a0 and span 0a or 1a (of the first or second thread), in work_b in
trace b0 and span 0b or 1b; in between, in work_none, in none.
"""
import ctypes
import mmap
import os
import struct
import sys
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
KEYS = ["http.route", "odd"]


def field(number, data):
    size, length = b"", len(data)
    while True:
        size += bytes([length & 127 | (128 if length > 127 else 0)])
        length >>= 7
        if not length:
            return bytes([number << 3 | 2]) + size + data


def pair(key, value):
    return field(2, field(1, key.encode()) + field(2, value))


def publish_process():
    """A mapping /memfd:OTEL_CTX; it stays as long as the process."""
    array = b"".join(field(1, field(1, k.encode())) for k in KEYS)
    payload = pair("threadlocal.schema_version", field(1, b"tlsdesc_v1_dev")) + \
        pair("threadlocal.attribute_key_map", field(5, array))
    keep = ctypes.create_string_buffer(payload, len(payload))
    fd = os.memfd_create("OTEL_CTX", os.MFD_CLOEXEC)
    os.ftruncate(fd, 4096)
    where = mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    os.close(fd)
    where[24:32] = struct.pack("<Q", ctypes.addressof(keep))
    where[8:16] = struct.pack("<II", 2, len(payload))
    where[0:8] = b"OTEL_CTX"
    where[16:24] = struct.pack("<Q", time.clock_gettime_ns(time.CLOCK_BOOTTIME))
    return keep, where


def attribute(key, text):
    return bytes([key, len(text)]) + text


def record(trace, span, route, odd=b"x" * 100):
    attrs = attribute(0, route) + attribute(1, odd) if route else b""
    data = bytes([trace]) * 16 + bytes([span]) * 8 + struct.pack("<BBH", 1, 1, len(attrs)) + attrs
    return ctypes.create_string_buffer(data, len(data))


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def work_a(wait):
    time.sleep(0.003) if wait else spin(0.003)


def work_b(wait):
    time.sleep(0.003) if wait else spin(0.003)


def work_none(wait):
    time.sleep(0.003) if wait else spin(0.003)


def work(writer, number, wait):
    a, b = record(0xa0, number << 4 | 0xa, b"/a/{id}"), record(0xb0, number << 4 | 0xb, b"")
    while os.getppid() == parent:
        writer.ctx_set(a)
        work_a(wait)
        writer.ctx_set(None)
        work_none(wait)
        writer.ctx_set(b)
        work_b(wait)
        writer.ctx_set(None)


def change(writer, number):
    """Both traces in one record, that is changed in place."""
    r = record(0xa0, number << 4 | 0xa, b"")
    ids = [bytes([t]) * 16 + bytes([number << 4 | t >> 4]) * 8 for t in (0xa0, 0xb0)]
    writer.ctx_set(r)
    while os.getppid() == parent:
        for _ in range(1000):
            writer.ctx_change(r, ids[0])
            writer.ctx_change(r, ids[1])


def always(writer, number, route):
    """One context all the time, for the bench."""
    r = record(0xa0, number << 4 | 0xa, route.encode(), b"tenant-1")
    writer.ctx_set(r)
    while os.getppid() == parent:
        spin(0.1)


parent = os.getppid()
library, how = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
WRITER = LIBC if library == "-" else ctypes.CDLL(library)
WRITER.ctx_set.argtypes = [ctypes.c_char_p]
WRITER.ctx_set.restype = None
WRITER.ctx_change.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
kept = publish_process()
target, args = (change, ()) if how == "change" else \
    (always, (sys.argv[3],)) if how == "always" else (work, (how == "sleep",))
print("ready", flush=True)
if how == "fork":
    sys.stdin.readline()
    if not os.fork():
        parent = os.getppid()
        work(WRITER, 2, False)
        os._exit(0)
for n in range(2):
    threading.Thread(target=target, args=(WRITER, n, *args), daemon=True).start()
while os.getppid() == parent:
    time.sleep(0.1)
