# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A thread in native code without the GIL beside one that holds it."""
import hashlib
import threading
import time

from truth import leaf, tid, until

stop = False
worker = {}
BLOCK = bytes(8 << 20)


def hash_without_gil():
    leaf()
    while not stop:
        hashlib.blake2b(BLOCK)      # not OpenSSL's: every build has it


def thread_main():
    start = time.thread_time()
    hash_without_gil()
    worker.update(tid=tid(), cpu_s=time.thread_time() - start)


def hold_gil():
    leaf()
    for i in range(20000):
        i & 3


def run(seconds):
    global stop
    thread = threading.Thread(target=thread_main)
    thread.start()
    for _ in until(2 * seconds):
        hold_gil()
    stop = True
    thread.join()
    return {"worker": worker, "main_tid": tid()}
