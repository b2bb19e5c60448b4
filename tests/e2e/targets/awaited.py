# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tasks that await one another in every way, and stay so: who awaits each of them.

    awaited.py [pure]

Prints the addresses of asyncio's types, then for each task its way and address, the addresses of
the tasks that await it, and after a ":" the code objects of these, task by task, each from its
outermost coroutine on; then "ready". Waits for stdin to close.
"""
import sys

if "pure" in sys.argv[1:]:
    sys.modules["_asyncio"] = None

import asyncio
import functools
import os

awaits = {}             # task -> tasks that await it, as the program knows
leaves = []             # (way, task)


def start(coro):
    return asyncio.ensure_future(coro)


def awaited(way, *by):
    """This task is awaited by these."""
    task = asyncio.current_task()
    awaits[task] = list(by)
    leaves.append((way, task))


async def leaf(way, *by):
    awaited(way, *by)
    await asyncio.Event().wait()


async def handler(way, by):
    """A task between."""
    awaited(way + "-handler", by)
    me = asyncio.current_task()
    await start(leaf(way, me))


def me():
    return asyncio.current_task()


async def plain():
    await start(leaf("plain", me()))


async def directly():
    """A task that awaits a coroutine that awaits a task."""
    await plain()


async def gathered():
    await asyncio.gather(leaf("gather", me()), leaf("gather", me()))


async def nested(depth=10):
    async def further(by):
        awaited("nested-%d" % depth, by)
        await nested(depth - 1)
    await asyncio.gather(further(me()) if depth else leaf("nested", me()), leaf("beside", me()))


async def gathers_of_gathers():
    await asyncio.gather(asyncio.gather(asyncio.gather(leaf("gathers", me()))), handler("gathers-2", me()))


async def waited():
    await asyncio.wait([start(leaf("wait", me()))])


async def waited_for():
    await asyncio.wait_for(start(leaf("wait_for", me())), 1000)


async def shielded():
    await asyncio.shield(start(handler("shield", me())))


async def completed():
    for each in asyncio.as_completed([leaf("as_completed", me()), leaf("as_completed", me())]):
        await each


async def grouped():
    async with asyncio.TaskGroup() as group:
        group.create_task(handler("group", me()))
        group.create_task(leaf("group", me()))


async def group_and_await():
    """A task that awaits one of its group's is named once."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(leaf("group_and_await", me()))
        await task


async def by_two():
    """Two tasks await one: the chain goes on from either."""
    task = start(leaf("by_two"))
    await asyncio.sleep(0)

    async def other(by):
        await asyncio.shield(task)
    a, b = start(other(me())), start(other(me()))
    awaits[task] = [a, b]
    awaits[a] = awaits[b] = [me()]
    await asyncio.gather(a, b)


async def generated():
    """Through an asynchronous generator."""
    async def numbers():
        yield await start(leaf("generated", me()))
    STEPS["async_generator_asend"] = numbers()
    async for _ in STEPS["async_generator_asend"]:
        pass


async def discarded():
    """set.discard and cancel() await nobody."""
    task = start(leaf("discarded"))
    kept = {task}
    task.add_done_callback(kept.discard)
    task.add_done_callback(me().cancel)
    await asyncio.Event().wait()


def lonely(task, number):
    """A callback of no known shape."""


async def unknown():
    task = start(leaf("unknown lonely"))
    task.add_done_callback(functools.partial(lonely, 1))
    await asyncio.Event().wait()


def from_a_thread(loop):
    asyncio.run_coroutine_threadsafe(leaf("threadsafe"), loop)


WAYS = [plain, directly, gathered, nested, gathers_of_gathers, waited, waited_for, shielded, completed, by_two,
        generated, discarded, unknown]
if hasattr(asyncio, "TaskGroup"):
    WAYS += [grouped, group_and_await]


STEPS = {}              # what a step of an asynchronous generator leads to, which it does not tell


def codes(task):
    """The code objects of a task's coroutines, the outermost first; a future in Python is a generator."""
    coro, found = task.get_coro(), []
    while coro is not None:
        for kind, awaits_what in ("cr", "cr_await"), ("ag", "ag_await"), ("gi", "gi_yieldfrom"):
            if hasattr(coro, kind + "_code"):
                found.append(getattr(coro, kind + "_code"))
                coro = getattr(coro, awaits_what)
                break
        else:
            coro = STEPS.get(type(coro).__name__)
    return found


def chain(task):
    found, seen = [], {task}
    while awaits.get(task):
        task = awaits[task][0]
        if task in seen:
            break
        seen.add(task)
        found += map(id, codes(task))
    return found


def types():
    tasks, futures = asyncio.tasks, asyncio.futures
    return [id(tasks.Task), id(futures.Future), id(tasks._PyTask), id(futures._PyFuture),
            int(tasks.Task is tasks._PyTask)]


async def main():
    ways = [start(way()) for way in WAYS]
    from_a_thread(asyncio.get_running_loop())
    for _ in range(20):
        await asyncio.sleep(0.001)
    awaits[me()] = []
    leaves.append(("main", me()))
    print(*types())
    for way, task in leaves:
        print(way.replace(" ", "\t"), id(task), *map(id, awaits[task]), ":", *chain(task))
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0 if not any(way.done() for way in ways) else 1)


if __name__ == "__main__":
    asyncio.run(main())
