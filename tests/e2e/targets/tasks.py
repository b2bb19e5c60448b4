# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""asyncio tasks that use CPU time, and a book of how much each function used: tasks.py HOW CPU_SECONDS.

gather      1,000 tasks of two handlers, awaited by main()
group       the same in a TaskGroup
eager       tasks that run inside of their creator until they first wait
named       each handler's task has a name of the program's own
late        asyncio is imported after half a second of other work
fork        a child that is forked later runs the tasks
block       a task that blocks its thread
uvloop      gather, in uvloop's loop
uvloop_own  the same, and the program runs the loop itself
threads     gather, in a loop in each of four threads
"""
import json
import os
import signal
import sys
import time

BOOK = {"fetch": 0.0, "digest": 0.0, "reply": 0.0}
STOP = []


def burn(what, seconds):
    begin = time.thread_time()
    while time.thread_time() < begin + seconds:
        pass
    BOOK[what] += time.thread_time() - begin


def rounds(seconds):
    """So much CPU time, or until a SIGUSR1."""
    end = time.thread_time() + seconds
    print("ready", flush=True)
    while time.thread_time() < end and not STOP:
        yield


async def fetch():
    burn("fetch", 0.0002)
    await asyncio.sleep(0)
    await digest()


async def digest():
    burn("digest", 0.0004)


async def handle():
    await fetch()


async def reply():
    burn("reply", 0.0003)
    await asyncio.sleep(0)


async def main(seconds):
    for _ in rounds(seconds):
        await asyncio.gather(*((handle if i % 2 else reply)() for i in range(1000)))


async def grouped(seconds):
    for _ in rounds(seconds):
        async with asyncio.TaskGroup() as group:
            for i in range(1000):
                group.create_task((handle if i % 2 else reply)())


async def named(seconds):
    for _ in rounds(seconds):
        await asyncio.gather(*(asyncio.create_task(handle(), name="handler") for _ in range(100)))


async def eager(seconds):
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    await main(seconds)


async def blocked():
    burn("reply", 0.01)
    time.sleep(0.05)


async def block(seconds):
    for _ in rounds(seconds):
        await asyncio.gather(blocked())


def fork(seconds):
    burn("reply", 0.3)      # the parent is sampled, and so known
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        os._exit(0)
    asyncio.run(main(seconds))


def run(how, seconds):
    signal.signal(signal.SIGUSR1, lambda *_: STOP.append(1))
    if how == "late":
        burn("reply", 0.5)
        BOOK["reply"] = 0.0
    global asyncio
    import asyncio
    if how == "fork":
        fork(seconds)
    elif how == "uvloop":
        import uvloop
        uvloop.run(main(seconds))
    elif how == "uvloop_own":
        import uvloop
        uvloop.new_event_loop().run_until_complete(main(seconds))
    elif how == "threads":
        import threading
        threads = [threading.Thread(target=lambda: asyncio.run(main(seconds / 4))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        coroutine = {"group": grouped, "eager": eager, "named": named, "block": block}.get(how, main)
        asyncio.run(coroutine(seconds))


run(sys.argv[1], float(sys.argv[2]))
print(json.dumps(BOOK))
