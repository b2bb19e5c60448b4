# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Coroutines driven by hand, some suspended meanwhile; asynchronous generators; asyncio."""
import asyncio
import types

from rehearse import Play


def work():
    x = 0
    for i in range(200):
        x += i & 3
    return x


@types.coroutine
def pause():
    work()
    yield "paused"


class Resource:
    async def __aenter__(self):
        await pause()
        return self

    async def __aexit__(self, *_):
        work()


async def inner(n):
    for _ in range(n):
        await pause()
    return work()


async def outer(depth, n):
    if depth:
        return await outer(depth - 1, n)
    return await inner(n)


async def numbers(n):
    for i in range(n):
        await pause()
        yield i


async def consume():
    async with Resource():
        async for _ in numbers(5):
            work()
    return [i async for i in numbers(5)]


def drive(*coroutines):
    """Round robin: while one runs the others are suspended."""
    waiting = list(coroutines)
    while waiting:
        coroutine = waiting.pop(0)
        try:
            coroutine.send(None)
            waiting.append(coroutine)
        except StopIteration:
            pass


async def in_task(n):
    for _ in range(n):
        work()
        await asyncio.sleep(0)


async def producer(queue, n):
    for i in range(n):
        await queue.put(i)
    await queue.put(None)


async def consumer(queue):
    while await queue.get() is not None:
        work()


async def tasks():
    queue = asyncio.Queue(2)
    await asyncio.gather(in_task(5), in_task(5), producer(queue, 6), consumer(queue))
    await asyncio.wait_for(in_task(2), 10)


async def group():
    async with asyncio.TaskGroup() as together:
        together.create_task(in_task(5))
        together.create_task(in_task(5))


loop = asyncio.new_event_loop()


def act():
    drive(outer(10, 5), outer(3, 5), consume())
    loop.run_until_complete(tasks())
    if hasattr(asyncio, "TaskGroup"):
        asyncio.run(group())


run = Play(act, ["work"]).run
