# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""deadlocks.py TRUTH PLAN: threads that wait for locks of each other.

Says "ready" when all of them have begun, and writes {"tids": ..., "locks": ..., "main": ...}; leaves at the end of
its input. Plans: circle:N, N threads that each hold an RLock and wait for the next one's, in different ways; plain:N,
the same with plain locks; by_hand:N, the same, each acquired without `with`; timed, a circle of two of which one waits
with a timeout; held, two threads wait for a lock that a third, which sleeps, holds; chain, a thread waits for a lock
whose holder waits for another; handed, four threads that pass two locks on and on, in the right order; handed_plain,
the same with plain locks, hand over hand.
"""
import json
import os
import sys
import threading
import time


def tid():
    """threading.get_native_id() exists since 3.8."""
    if hasattr(threading, "get_native_id"):
        return threading.get_native_id()
    return int(os.readlink("/proc/thread-self").rpartition("/")[2])


class Account:
    def __init__(self, lock):
        self.lock = lock

    def by_acquire(self):
        self.lock.acquire()

    def by_with(self):
        with self.lock:
            pass

    def by_condition(self):
        with threading.Condition(self.lock):
            pass

    def by_timeout(self):
        self.lock.acquire(timeout=10000)

    def by_argument(self):
        waits = [lock.acquire for lock in (self.lock,)]
        waits[0](True)


WAYS = (Account.by_acquire, Account.by_with, Account.by_condition, Account.by_argument)


def say(begun):
    begun.release()


def begin(number, held, wait, tids, begun, go):
    tids[number] = tid()
    with held:
        say(begun)
        go.wait()
        wait()


def begin_by_hand(number, held, wait, tids, begun, go):
    tids[number] = tid()
    held.acquire()
    say(begun)
    go.wait()
    wait()


def start(targets, begin=begin):
    """Each of (lock that it holds, what it then waits in)."""
    tids, begun, go = {}, threading.Semaphore(0), threading.Event()
    for number, (held, wait) in enumerate(targets):
        threading.Thread(target=begin, args=(number, held, wait, tids, begun, go), name="n%d" % number,
                         daemon=True).start()
        begun.acquire()
    go.set()
    return [tids[n] for n in range(len(targets))]


def sleep():
    time.sleep(10000)


def hand_on(first, second):
    while True:
        with first:
            with second:
                time.sleep(0.0001)


def hand_over_hand(first, second):
    while True:
        first.acquire()
        with second:
            first.release()
            time.sleep(0.0001)


def plan_of(kind, many):
    lock = threading.RLock if kind in ("circle", "timed", "held", "chain", "handed") else threading.Lock
    locks = [lock() for _ in range(many)]
    accounts = [Account(l) for l in locks]
    if kind in ("circle", "plain", "by_hand"):
        ways = [WAYS[i % len(WAYS)] for i in range(many)]
        waits = [(lambda i=i: ways[i](accounts[(i + 1) % many])) for i in range(many)]
        return locks, list(zip(locks, waits))
    if kind == "timed":
        return locks, [(locks[0], accounts[1].by_timeout), (locks[1], accounts[0].by_with)]
    own = [threading.RLock() for _ in range(3)]
    if kind == "held":
        return locks, [(locks[0], sleep), (own[0], accounts[0].by_acquire), (own[1], accounts[0].by_with)]
    if kind == "chain":
        return locks, [(locks[0], sleep), (locks[1], accounts[0].by_with), (own[0], accounts[1].by_with)]
    hand = hand_over_hand if kind == "handed_plain" else hand_on
    return locks, [(threading.RLock(), lambda: hand(*locks)) for _ in range(4)]


def main():
    truth, (kind, _, many) = sys.argv[1], sys.argv[2].partition(":")
    locks, targets = plan_of(kind, int(many or 2))
    tids = start(targets, begin_by_hand if kind == "by_hand" else begin)
    with open(truth, "w") as f:
        json.dump({"tids": tids, "locks": ["0x%x" % id(l) for l in locks], "main": tid()}, f)
    print("ready", flush=True)
    os.read(0, 1)
    os._exit(0)


main()
