# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads with names: python3 named.py TRUTH SECONDS. Writes {what it is for: its thread id}.

As CPython 3.14 and later do by themselves, each tells the kernel what it is called. "late" gets
its name when it has been sampled for long, "twice" gets another one, "bare" never has one.
"""
import ctypes
import json
import sys
import threading
import time

TELLS_ITSELF = sys.version_info >= (3, 14)
HOSTILE = b'a"\x1b[31m\xff<b>\\'
SYS_GETTID = {"x86_64": 186, "aarch64": 178}


def thread_id():
    if hasattr(threading, "get_native_id"):
        return threading.get_native_id()
    import os
    return ctypes.CDLL(None).syscall(SYS_GETTID[os.uname().machine])


def call_me(name):
    with open("/proc/self/task/%d/comm" % thread_id(), "wb") as f:
        f.write(name)


def burn(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(500))


def work(role, seconds, tids):
    tids[role] = thread_id()
    if role == "worker" and not TELLS_ITSELF:
        call_me(b"worker-1")
    if role == "hostile":
        call_me(HOSTILE)
    if role == "twice":
        call_me(b"first name")
    burn(seconds / 2)
    if role == "late":
        call_me(b"late name")
    if role == "twice":
        call_me(b"second name")
    burn(seconds / 2)


def main():
    tids, seconds = {}, float(sys.argv[2])
    roles = ("worker", "hostile", "twice", "late", "bare")
    # Python's name of most of them is what CPython would tell the kernel: none.
    threads = [threading.Thread(target=work, args=(role, seconds, tids),
                                name="worker-1" if role == "worker" else
                                open("/proc/self/comm").read().strip()) for role in roles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(sys.argv[1], "w") as f:
        json.dump(tids, f)


main()
