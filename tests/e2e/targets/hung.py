# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""hung.py TRUTH KIND...: threads that each wait for something that never comes.

Says "ready" when all of them have begun, and writes {kind: tid} and the descriptors; leaves at the
end of its input. Kinds: lock, pipe, socket, nap, poll, pause, callback (both by ctypes), naps (short ones), compute; "many:N" are N threads that wait
for a lock. The main thread waits in read().
"""
import json
import os
import select
import socket
import sys
import threading
import time

LOCK = threading.Lock()
PIPE, _PIPE_END = os.pipe()
SOCKET, _SOCKET_END = socket.socketpair()
STACK_BYTES = 128 * 1024


def tid():
    """threading.get_native_id() exists since 3.8."""
    if hasattr(threading, "get_native_id"):
        return threading.get_native_id()
    return int(os.readlink("/proc/thread-self").rpartition("/")[2])


def wait_lock():
    LOCK.acquire()


def wait_pipe():
    os.read(PIPE, 1)


def wait_socket():
    SOCKET.recv(1)


def wait_nap():
    time.sleep(10000)


def wait_poll():
    poll = select.poll()
    poll.register(PIPE, select.POLLIN)
    poll.poll()


def wait_pause():
    import ctypes
    ctypes.CDLL(None).pause()


def wait_callback():
    """C code that Python calls, and that calls Python, which waits."""
    import ctypes
    ctypes.CFUNCTYPE(None)(wait_nap)()


def naps():
    while True:
        time.sleep(0.05)


def compute():
    while True:
        sum(range(100))


WORK = {"lock": wait_lock, "pipe": wait_pipe, "socket": wait_socket, "nap": wait_nap, "poll": wait_poll,
        "pause": wait_pause, "callback": wait_callback,
        "naps": naps, "compute": compute}


def begin(kind, tids, begun):
    tids.setdefault(kind, []).append(tid())
    begun.release()
    WORK[kind]()


def main():
    truth, kinds = sys.argv[1], []
    for kind in sys.argv[2:]:
        name, _, many = kind.partition(":")
        kinds += ["lock"] * int(many) if name == "many" else [name]
    tids, begun = {}, threading.Semaphore(0)
    LOCK.acquire()
    threading.stack_size(STACK_BYTES)
    for kind in kinds:
        threading.Thread(target=begin, args=(kind, tids, begun), name=kind, daemon=True).start()
    for _ in kinds:
        begun.acquire()
    with open(truth, "w") as f:
        json.dump({"tids": tids, "main": tid(), "pipe": PIPE, "socket": SOCKET.fileno()}, f)
    print("ready", flush=True)
    os.read(0, 1)
    os._exit(0)


main()
