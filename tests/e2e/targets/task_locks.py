# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""task_locks.py TRUTH: asyncio tasks that wait for asyncio locks, and those that hold them.

Says "ready" when all of them wait, and writes what each task's lock is to be; leaves at the end of its input.
"""
import asyncio
import json
import os
import sys


async def cross(own, other, go):
    async with own:
        await go.wait()
        async with other:
            pass


async def deep(lock):
    async with lock:
        await asyncio.gather(asyncio.sleep(10000))


async def again(lock):
    async with lock:
        await wait_in(lock)


async def by_hand(lock):
    await lock.acquire()
    await asyncio.sleep(10000)


async def wait_in(lock):
    async with lock:
        pass


async def released(lock):
    async with lock:
        lock.release()
        await asyncio.sleep(10000)


async def gives_up(condition):
    async with condition:
        await condition.wait()


async def permitted(semaphore):
    async with semaphore:
        await asyncio.sleep(10000)


async def one_of(queue):
    await queue.get()


async def main():
    rows = {}

    async def start(name, coroutine, **row):
        tasks.append(asyncio.create_task(coroutine, name=name))
        await asyncio.sleep(0)
        rows[name] = row or None

    tasks = []
    locks = {name: asyncio.Lock() for name in ("one", "two", "own", "slept", "taken", "free", "given")}
    one, two, own, slept, taken, free, given = locks.values()
    go = asyncio.Event()
    await start("first", cross(one, two, go), lock="two", holder="second", function="cross", by="with")
    await start("second", cross(two, one, go), lock="one", holder="first", function="cross", by="with")
    go.set()
    await start("itself", again(own), lock="own", holder="itself", function="again", by="with")
    await start("sleeper", deep(slept))
    await start("waiter", wait_in(slept), lock="slept", holder="sleeper", function="deep", by="with")
    await start("condition", wait_in(asyncio.Condition(slept)), lock="slept", holder="sleeper", function="deep",
                by="with")
    await start("hand", by_hand(taken))
    await start("patient", wait_in(taken), lock="taken", holder="hand", function="by_hand", by="acquire")
    await start("careless", released(free))
    await free.acquire()
    await start("nobody", wait_in(free), lock="free", holder="Task-1", function="main", by="acquire")
    await start("notified", gives_up(asyncio.Condition(given)))
    await given.acquire()
    await start("given", wait_in(given), lock="given", holder="Task-1", function="main", by="acquire")
    two, one = asyncio.Semaphore(2), asyncio.BoundedSemaphore(1)
    for name, semaphore in ("in-1", two), ("in-2", two), ("out-1", two), ("in-3", one), ("out-2", one):
        await start(name, permitted(semaphore))
    jobs, event = asyncio.Queue(), asyncio.Event()
    await start("getter", one_of(jobs))
    await start("late", event.wait())
    things = {"out-1": [hex(id(two)), 2], "out-2": [hex(id(one)), 1], "getter": hex(id(jobs)), "late": hex(id(event))}
    with open(sys.argv[1], "w") as f:
        json.dump({"tasks": rows, "locks": {name: hex(id(lock)) for name, lock in locks.items()},
                   "things": things}, f)
    asyncio.get_running_loop().add_reader(0, lambda: os._exit(0))
    print("ready", flush=True)
    await asyncio.sleep(10000)


asyncio.run(main())
