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


def starved():
    """Seconds this thread could have run and had no CPU, by the scheduler's own count."""
    with open("/proc/thread-self/schedstat") as f:
        return int(f.read().split()[1]) / 1e9


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
    wait = WAITS[kind]
    GO.wait()
    begin, begin_cpu, begin_starved, off = mono(), cpu(), starved(), 0.0
    while mono() < begin + seconds:
        at = mono()
        wait()
        off += mono() - at
        if kind == "nap":
            burn(0.03)
    truth.update(begin=begin, end=mono(), off=off, cpu=cpu() - begin_cpu,
                 starved=starved() - begin_starved)


def compute(kind, seconds, truth):
    GO.wait()
    begin, begin_cpu, begin_starved = mono(), cpu(), starved()
    while mono() < begin + seconds:
        sum(range(2000))
    truth.update(begin=begin, end=mono(), cpu=cpu() - begin_cpu,
                 starved=starved() - begin_starved)


def handle(kind, seconds, truth):
    GO.wait()
    begin, begin_cpu, inside = mono(), cpu(), 0.0
    while mono() < begin + seconds:
        at = mono()
        fail()
        inside += mono() - at
        burn(0.01)
        time.sleep(0.01)
    truth.update(begin=begin, end=mono(), cpu=cpu() - begin_cpu, inside=inside)


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
