# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""faults.py TRUTH [seconds]: has many faults at once: it uses the CPU, in Python and in C, waits for an answer that never
comes, has an idle pool, threads that take the GIL from each other, exceptions, memory that grows, a deadlock.

Says "ready", and leaves at the end of its input or after so much CPU time.
"""
import functools
import json
import queue
import socket
import sys
import threading
import time

HELD = []
FIRST, SECOND = threading.Lock(), threading.Lock()


def decorated(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner


@decorated
def burn():
    total = 0
    for i in range(20000):
        total += i * i
    return total


def parse():
    for text in ["x"] * 200:
        try:
            int(text)
        except ValueError:
            sum(range(200))


def encode():
    json.dumps(list(range(20000)))


def keep():
    """Grows for the time of a test, and not beyond all limits."""
    while len(HELD) < 6000:
        HELD.append(b"x" * (1 << 16))
        time.sleep(0.01)


def forever(*functions):
    while True:
        for function in functions:
            function()


def ask(sock):
    sock.recv(10)


def lock_both(one, other, ready):
    with one:
        ready.wait()
        with other:
            pass


def start(*calls):
    for function, *args in calls:
        thread = threading.Thread(target=function, args=args)
        thread.daemon = True
        thread.start()


def main():
    if len(sys.argv) > 2:
        while time.process_time() < float(sys.argv[2]):
            burn()
        return
    pair, pool, both = socket.socketpair(), queue.Queue(), threading.Barrier(2)
    start((forever, burn), (forever, parse, encode), (keep,), (ask, pair[0]), (pool.get,), (pool.get,),
          (lock_both, FIRST, SECOND, both), (lock_both, SECOND, FIRST, both))
    print("ready", flush=True)
    sys.stdin.read()


main()
