# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""nurseries.py TRUTH KIND [COUNT]: trio's tasks. Says "ready" when all of them wait.

Kinds: tree (nurseries in nurseries, generators, a context manager), many (COUNT tasks of one nursery),
threads (trio in the main thread and in another one), busy (COUNT tasks that never stand still, and 20
named stable-N that do).

TRUTH: of each task, by id(), what trio says: name, parent, functions and lines, outermost first.
"""
import gc
import json
import os
import sys
import threading
import time
import traceback
import types
from contextlib import asynccontextmanager

try:
    import ssl      # noqa: F401
except ImportError:
    class NoSSL(types.ModuleType):
        """For interpreters that were built without: trio wants names of it, no more."""

        def __getattr__(self, name):
            return type(name, (Exception,), {"__module__": "ssl"})

    sys.modules["ssl"] = NoSSL("ssl")
import trio  # noqa: E402

STABLE = 20
ROOTS = []      # of each thread: (tid, root task)


async def leaf():
    await trio.sleep_forever()


async def deep(n):
    if n:
        return await deep(n - 1)
    await trio.sleep(100000)


async def steps():
    yield 1
    await leaf()


async def over_steps():
    async for _ in steps():
        pass


@asynccontextmanager
async def context():
    yield
    await leaf()


async def in_context():
    async with context():
        pass


async def children(n):
    async with trio.open_nursery() as outer:
        outer.start_soon(leaf, name="below outer %d" % n)
        async with trio.open_nursery() as inner:
            if n:
                inner.start_soon(children, n - 1, name="children %d" % (n - 1))
            inner.start_soon(deep, 3)
            await leaf()


def noted():
    ROOTS.append((threading.get_native_id(), trio.lowlevel.current_root_task()))


async def tree():
    noted()
    async with trio.open_nursery() as nursery:
        for function in over_steps, in_context, leaf:
            nursery.start_soon(function)
        nursery.start_soon(children, 2)


async def many(n):
    noted()
    async with trio.open_nursery() as nursery:
        for i in range(n):
            nursery.start_soon(deep, 2, name="task-%d" % i)


async def threads():
    threading.Thread(target=trio.run, args=(many, 2), daemon=True).start()
    while not ROOTS:
        await trio.sleep(0.01)
    await many(3)


async def turn():
    while True:
        await trio.sleep(0)


async def short():
    while True:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 0)
            nursery.start_soon(trio.sleep, 0.001)


async def busy(n):
    noted()
    async with trio.open_nursery() as nursery:
        for i in range(STABLE):
            nursery.start_soon(leaf, name="stable-%d" % i)
        for i in range(n):
            nursery.start_soon(turn if i & 1 else short)


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def await_frames(task):
    """trio's own answer; before 0.23 it has none."""
    if hasattr(task, "iter_await_frames"):
        yield from task.iter_await_frames()
        return
    at = task.coro
    while at is not None:
        if hasattr(at, "cr_frame"):
            frame, at = at.cr_frame, at.cr_await
        elif hasattr(at, "gi_frame"):
            frame, at = at.gi_frame, at.gi_yieldfrom
        elif hasattr(at, "ag_frame"):
            frame, at = at.ag_frame, at.ag_await
        else:
            at = next(o for o in gc.get_referents(at) if hasattr(o, "ag_frame"))
            continue
        yield frame, frame.f_lineno


def tasks_below(task, parent, tid, found):
    frames = [[name_of(frame.f_code), frame.f_code.co_filename, line]
              for frame, line in await_frames(task)]
    found[id(task)] = {"name": task.name, "parent": parent, "tid": tid, "frames": frames}
    for nursery in task.child_nurseries:
        for child in nursery.child_tasks:
            tasks_below(child, id(task), tid, found)


def truth():
    found = {}
    for tid, root in ROOTS:
        tasks_below(root, None, tid, found)
    return found


def tell_or_end(kind):
    try:
        tell(kind)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def tell(kind):
    """When nothing moves any more, or at once if it always does."""
    before, now = None, None
    while kind != "busy" and (now != before or not now or len(ROOTS) < 1 + (kind == "threads")):
        time.sleep(0.1)
        before, now = now, truth()
    with open(sys.argv[1], "w") as f:
        json.dump(now or {}, f)
    print("ready", flush=True)


def main():
    kind, count = sys.argv[2], [int(n) for n in sys.argv[3:]]
    threading.Thread(target=tell_or_end, args=(kind,), daemon=True).start()
    trio.run(globals()[kind], *count)


if __name__ == "__main__":
    main()
