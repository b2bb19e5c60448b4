# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that start and end all the time beside some that stay; queues, locks, pools."""
import _thread
import concurrent.futures
import queue
import threading
import time

from rehearse import Play


def spin(n):
    for i in range(n):
        i & 3


def brief(n):
    spin(n)
    nested(n % 7, n)


def nested(depth, n):
    return nested(depth - 1, n) if depth else spin(n)


def bare(lock):
    nested(5, 300)
    lock.release()


def take(jobs):
    while True:
        n = jobs.get()
        if n is None:
            return
        nested(3, n)


def start_and_end():
    threads = [threading.Thread(target=brief, args=(200 + i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def bare_threads():
    locks = [_thread.allocate_lock() for _ in range(3)]
    for lock in locks:
        lock.acquire()
        _thread.start_new_thread(bare, (lock,))
    for lock in locks:
        lock.acquire()


def with_queue():
    jobs = queue.Queue()
    threads = [threading.Thread(target=take, args=(jobs,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(20):
        jobs.put(100 + i)
    for _ in threads:
        jobs.put(None)
    for thread in threads:
        thread.join()


def until_asked(asked):
    while not asked or not asked[0]._condition._waiters:
        time.sleep(0.001)


def with_pool():
    """Who asks for the first result waits for it, and finds the last one: so in rehearsals, too."""
    asked = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        asked.append(pool.submit(until_asked, asked))
        done = concurrent.futures.Future()
        done.set_result(None)
        for future in asked + [pool.submit(brief, n) for n in range(100, 120)] + [done]:
            future.result()


def act():
    start_and_end()
    bare_threads()
    with_queue()
    with_pool()


run = Play(act, ["spin"]).run
