# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""awaiting.py TRUTH KIND [COUNT]: a program of asyncio tasks. Says "ready" when they are as they stay.

Kinds: tree (tasks that wait in each way that asyncio has), many (COUNT tasks of one handler, gathered),
busy (COUNT tasks that never stand still, and 50 named stable-N that do), cycle (two that await each other, and
one that waits for them), threads (a loop in the main thread and one in another), uvloop (as many, by
its loop). Writes the tids of the threads with a loop.
"""
import asyncio
import contextlib
import json
import os
import sys
import threading
import types

LONG = 100000
STABLE = 50


async def leaf():
    await asyncio.sleep(LONG)


async def deep(n):
    if n:
        return await deep(n - 1)
    await leaf()


async def steps():
    try:
        yield 1
        await leaf()
        yield 2
    finally:
        await leaf()


async def outer_steps():
    async for step in steps():
        yield step


@contextlib.asynccontextmanager
async def context():
    yield
    await leaf()


@types.coroutine
def old_coroutine():
    yield from leaf()


class Awaitable:
    def __await__(self):
        return leaf().__await__()


async def in_for():
    async for _ in steps():
        pass


async def in_nested_for():
    async for _ in outer_steps():
        pass


async def in_aclose():
    gen = steps()
    await anext(gen)
    await gen.aclose()


async def in_athrow():
    gen = steps()
    await anext(gen)
    await gen.athrow(ValueError)


async def in_anext_with_default():
    gen = steps()
    await anext(gen)
    await anext(gen, None)


async def in_context():
    async with context():
        pass


async def in_old_coroutine():
    await old_coroutine()


async def in_awaitable():
    await Awaitable()


async def in_gather():
    await asyncio.gather(deep(1), deep(2), asyncio.create_task(deep(0), name="given name"))


async def in_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(leaf())
        group.create_task(deep(3), name="in a group")


async def in_wait_for():
    await asyncio.wait_for(leaf(), LONG)


async def in_shield():
    await asyncio.shield(asyncio.create_task(leaf()))


async def in_wait():
    await asyncio.wait([asyncio.create_task(leaf()) for _ in range(3)])


async def in_as_completed():
    for one in asyncio.as_completed([leaf(), deep(1)]):
        await one


async def in_queue():
    await asyncio.Queue().get()


async def in_lock():
    lock = asyncio.Lock()
    await lock.acquire()
    await lock.acquire()


async def awaits(task):
    await task


async def tree():
    ways = [f for name, f in globals().items() if name.startswith("in_")]
    shared = asyncio.create_task(leaf(), name="awaited by three")
    tasks = [asyncio.create_task(way(), name=way.__name__) for way in ways]
    tasks += [asyncio.create_task(awaits(shared)) for _ in range(3)]
    alone = asyncio.create_task(leaf(), name="alone")
    settled()
    await asyncio.gather(*tasks)
    await alone


async def handle():
    await leaf()


async def many(count):
    asyncio.get_running_loop().call_later(0.5, say_ready)
    await asyncio.gather(*[handle() for _ in range(count)])


async def short():
    await asyncio.sleep(0)


async def works():
    while True:
        await asyncio.gather(short(), short())


async def stable():
    await asyncio.Event().wait()


async def busy(count):
    kept = [asyncio.create_task(stable(), name=f"stable-{i}") for i in range(STABLE)]
    settled()
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(works())
    await asyncio.gather(*kept)


async def cycle():
    tasks = {}

    async def awaits_named(name):
        await asyncio.sleep(0.1)
        await tasks[name]

    tasks["one"] = asyncio.create_task(awaits_named("two"), name="one")
    tasks["two"] = asyncio.create_task(awaits_named("one"), name="two")
    outside = asyncio.create_task(awaits(tasks["one"]), name="outside")
    asyncio.get_running_loop().call_later(0.5, say_ready)
    await outside


async def threads():
    def other():
        TIDS.append(threading.get_native_id())
        asyncio.run(named("other", started.set))

    started = threading.Event()
    threading.Thread(target=other, daemon=True).start()
    started.wait()
    await named("first", settled)


async def named(name, begun):
    tasks = [asyncio.create_task(leaf(), name=f"{name}-{i}") for i in range(3)]
    asyncio.get_running_loop().call_later(0.2, begun)
    await asyncio.gather(*tasks)


TIDS = [threading.get_native_id()]


def say_ready():
    with open(sys.argv[1], "w") as f:
        json.dump({"pid": os.getpid(), "tids": TIDS}, f)
    print("ready", flush=True)


def settled():
    """All tasks have come to where they wait: those that are made now, and those that these make."""
    asyncio.get_running_loop().call_later(0.5, say_ready)


def main():
    kind, count = sys.argv[2], [int(n) for n in sys.argv[3:]]
    if kind == "uvloop":
        import uvloop
        uvloop.run(many(*count))
    else:
        asyncio.run(globals()[kind](*count))


if __name__ == "__main__":
    main()
