# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that wait (sleep, lock, event) beside one that works."""
import threading

from truth import leaf, tid, until

done = threading.Event()
lock = threading.Lock()
tids = []


def wait_event():
    tids.append(tid())
    done.wait()


def wait_lock():
    tids.append(tid())
    with lock:
        pass


def wait_sleep():
    tids.append(tid())
    while not done.wait(0.2):
        pass


def awake():
    leaf()
    for i in range(200000):     # little of it in system calls, where a virtual CPU may stand still
        i & 3


def run(seconds):
    lock.acquire()
    threads = [threading.Thread(target=f) for f in (wait_event, wait_lock, wait_sleep)]
    for t in threads:
        t.start()
    for _ in until(seconds):
        awake()
    done.set()
    lock.release()
    for t in threads:
        t.join()
    return {"tids": tids}
