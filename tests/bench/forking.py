# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""forking.py OUT COUNT RATE LIFE_MS CPU_US: so many children, so many a second, by fork: each burns so much CPU in
burn_known() and lives so long. OUT gets a line for each child: pid and CPU ns burnt there. At the end it says how
many children it had, and in how many seconds.

A child tells what it burnt through a pipe: a file would cost more than the child does.
"""
import os
import sys
import time


def burn_known(cpu_ns):
    end = time.process_time_ns() + cpu_ns
    while time.process_time_ns() < end:
        pass


def child(pipe, life_s, cpu_ns, begin):
    start = time.process_time_ns()
    burn_known(cpu_ns)
    burnt = time.process_time_ns() - start
    os.write(pipe, b"%d %d\n" % (os.getpid(), burnt))
    time.sleep(max(0, begin + life_s - time.monotonic()))
    os._exit(0)


def reap(flags):
    try:
        while os.waitpid(-1, flags)[0]:
            pass
    except ChildProcessError:
        pass


def pour(pipe, log):
    try:
        log.write(os.read(pipe, 65536))
    except BlockingIOError:
        pass


def main():
    out, count, rate, life_ms, cpu_us = sys.argv[1], *map(float, sys.argv[2:])
    inner, outer = os.pipe()
    os.set_blocking(inner, False)
    started, begin = 0, time.monotonic()
    with open(out, "wb") as log:
        while started < count:
            if not os.fork():
                child(outer, life_ms / 1e3, int(cpu_us * 1000), time.monotonic())
            started += 1
            if started % 20 == 0:
                reap(os.WNOHANG)
                pour(inner, log)
            time.sleep(max(0, begin + started / rate - time.monotonic()))
        took = time.monotonic() - begin
        reap(0)
        pour(inner, log)
    print(started, took, flush=True)


main()
