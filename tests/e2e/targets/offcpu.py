# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""offcpu.py TRUTH SECONDS KIND...: threads that wait in a way that they measure themselves.

Says "ready" when all of them stand still, begins at "go", says "done" and leaves at the end of
its input. Times are CLOCK_MONOTONIC's. Kinds: nap, read, poll, lock, compute,
handle (an exception), idle.
"""
import json
import os
import select
import sys
import threading
import time

GO = threading.Event()
THREADS = []


def mono():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def cpu():
    return time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)


def scheduler():
    """(seconds this thread could have run and had no CPU, times on a CPU), as the scheduler counts."""
    with open("/proc/thread-self/schedstat") as f:
        _, delay, switches = map(int, f.read().split())
    return delay / 1e9, switches


def clocks():
    """All of one moment: it stays on its CPU between the first and the last."""
    counted = None
    while counted != scheduler():
        counted = scheduler()
        times = mono(), cpu()
    return times + counted


def since(begin):
    """What every thread says of itself."""
    end = clocks()
    _, cpu_s, starved, switches = (b - a for a, b in zip(begin, end))
    return {"begin": begin[0], "end": end[0], "cpu": cpu_s, "starved": starved,
            "switches": switches}


def fail():
    try:
        raise ValueError("for the profiler")
    except ValueError:
        burn(0.02)
        time.sleep(0.02)


def burn(seconds):
    end = cpu() + seconds
    while cpu() < end:
        pass


def wait_nap():
    time.sleep(0.07)


def wait_read(pipe=os.pipe()):
    os.read(pipe[0], 1)


def feed(pipe):
    while True:
        time.sleep(0.05)
        os.write(pipe, b"x")


def wait_poll(poller=select.poll()):
    poller.poll(40)


def wait_lock(lock=threading.Lock()):
    lock.acquire(timeout=0.06)


wait_lock.__defaults__[0].acquire()
WAITS = {"nap": wait_nap, "read": wait_read, "poll": wait_poll, "lock": wait_lock}


def waiter(kind, seconds, truth):
    """off: around the waits; busy: its CPU time in them."""
    wait = WAITS[kind]
    GO.wait()
    begin, off, busy = clocks(), 0.0, 0.0
    while mono() < begin[0] + seconds:
        at, at_cpu = mono(), cpu()
        wait()
        off += mono() - at
        busy += cpu() - at_cpu
        if kind == "nap":
            burn(0.03)
    truth.update(since(begin), off=off, busy=busy)


def compute(kind, seconds, truth):
    GO.wait()
    begin = clocks()
    while mono() < begin[0] + seconds:
        sum(range(2000))
    truth.update(since(begin))


def handle(kind, seconds, truth):
    """inside: while an exception is handled; busy: its CPU time there."""
    GO.wait()
    begin, inside, busy = clocks(), 0.0, 0.0
    while mono() < begin[0] + seconds:
        at, at_cpu = mono(), cpu()
        fail()
        inside += mono() - at
        busy += cpu() - at_cpu
        burn(0.01)
        time.sleep(0.01)
    truth.update(since(begin), inside=inside, busy=busy)


def idle(kind, seconds, truth):
    threading.Event().wait()


def tid_of(thread):
    """As the host has it: the kernel's, by the order in which threads were made."""
    return sorted(map(int, os.listdir("/proc/self/task")))[-1]


def main():
    path, seconds = sys.argv[1], float(sys.argv[2])
    if "read" in sys.argv[3:]:
        feeder = threading.Thread(target=feed, args=(wait_read.__defaults__[0][1],))
        feeder.daemon = True
        feeder.start()
    truths = []
    for kind in sys.argv[3:]:
        function = {"compute": compute, "idle": idle, "handle": handle}.get(kind, waiter)
        truth = {"kind": kind}
        thread = threading.Thread(target=function, args=(kind, seconds, truth))
        thread.daemon = True
        thread.start()
        truth["tid"] = tid_of(thread)
        truths.append(truth)
        if kind != "idle":
            THREADS.append(thread)
    time.sleep(0.1)
    print("ready", flush=True)
    sys.stdin.readline()
    GO.set()
    for thread in THREADS:
        thread.join()
    with open(path, "w") as out:
        json.dump({"pid": os.getpid(), "threads": truths, "version": sys.version_info[:2]}, out)
    print("done", flush=True)
    sys.stdin.read()


main()
