# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Coroutines that use CPU time, whose task is not found, or that have none: unfound_tasks.py HOW CPU_SECONDS.

driven      a loop of the program's own drives a coroutine, with send()
generator   the same with an asynchronous generator
decorated   the same with a generator that is a coroutine by @types.coroutine
plain       the same with a generator, which is nobody's coroutine
block       as driven, and it blocks its thread; the seconds are on the clock
first       asyncio's main task uses the CPU at once, as soon as asyncio is imported
loops9      nine event loops in nine threads, each of which runs a task at any time; loops4: four
"""
import sys
import time
import types


CLOCK = getattr(time, "thread_time", time.process_time)     # 3.7


def burn(seconds):
    begin = CLOCK()
    while CLOCK() < begin + seconds:
        pass


class Pause:
    def __await__(self):
        yield


async def inner():
    burn(0.004)
    await Pause()
    burn(0.001)


async def driven():
    await inner()


async def steps():
    burn(0.005)
    yield


def generator():
    return steps().__anext__()


@types.coroutine
def decorated():
    burn(0.005)
    yield


def plain():
    burn(0.005)
    yield


async def block():
    time.sleep(0.02)


def drive(made):
    try:
        while True:
            made.send(None)
    except (StopIteration, StopAsyncIteration):
        pass


async def first(seconds):
    burn(seconds)


async def task():
    burn(0.05)      # the GIL is taken from it after 5 ms, so it is not done then


async def looped(asyncio, end):
    while time.process_time() < end:
        await asyncio.ensure_future(task())


def by_hand(how, seconds):
    clock = time.perf_counter if how == "block" else time.process_time
    end = clock() + seconds
    print("ready", flush=True)
    while clock() < end:
        drive(globals()[how]())


def in_threads(asyncio, count, seconds):
    import threading
    end = time.process_time() + seconds
    threads = [threading.Thread(target=lambda: asyncio.run(looped(asyncio, end))) for _ in range(count)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    for thread in threads:
        thread.join()


def run(how, seconds):
    if how != "first" and not how.startswith("loops"):
        by_hand(how, seconds)
        return
    import asyncio      # not before: the others run without it
    if how == "first":
        asyncio.run(first(seconds))
    else:
        in_threads(asyncio, int(how[len("loops"):]), seconds)


run(sys.argv[1], float(sys.argv[2]))
