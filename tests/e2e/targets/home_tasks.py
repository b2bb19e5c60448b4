# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""home_tasks.py TRUTH KIND [COUNT]: asyncio's tasks of CPython 3.8 to 3.13, and what asyncio.all_tasks() says of them.

Kinds: loops (one in the main thread, two in others; uvloop's with "uvloop"), pure (the same without _asyncio), eager
(3.12: in a task that has begun eagerly), many (COUNT tasks), gathered (COUNT tasks that one gathers), lively (50 named
stable-N, and COUNT that come and go), interpreters (3.12: two, a loop in each), tree (tasks that await others in each
way there is), mixed (tasks of C, then of Python classes, as with nest_asyncio), forever (3.6: a loop without tasks).
With "pure" at the end without _asyncio. Some tasks are done and kept, some are of a subclass. Writes a list of tasks:
id, name, tid, the functions of its coroutines, and of tree the names of those that await it; then says "ready".
"""
import json
import os
import signal
import sys
import threading

TRUTH, KIND = sys.argv[1:3]
COUNT = ([int(word) for word in sys.argv[3:] if word.isdigit()] or [3])[0]
if "pure" in sys.argv[2:]:
    sys.modules["_asyncio"] = None

import asyncio  # noqa: E402

LONG = 100000
told = []
done = []
threads_done = threading.Semaphore(0)


class Mixin:
    pass


class Mine(Mixin, asyncio.Task):
    pass


async def leaf():
    await asyncio.sleep(LONG)


async def handle():
    await leaf()


async def finished():
    pass


def functions(task):
    """Of its coroutines, the outermost one first."""
    found, c = [], task.get_coro()
    while True:
        frame = getattr(c, "cr_frame", None) or getattr(c, "gi_frame", None)
        if not frame:
            return found
        found.append(frame.f_code.co_name)
        c = getattr(c, "cr_await", None) or getattr(c, "gi_yieldfrom", None)


def tell():
    """What the loop that runs here has."""
    current = asyncio.current_task()
    told.extend({"id": id(task), "name": task.get_name(), "tid": threading.get_native_id(),
                 "running": task is current, "functions": functions(task)} for task in asyncio.all_tasks())


async def tasks(tag):
    loop = asyncio.get_running_loop()
    kept = [asyncio.ensure_future(handle()) for _ in range(COUNT)]
    kept.append(Mine(handle(), loop=loop, name="subclass-" + tag))
    kept[0].set_name("n\u00e4me-" + tag)
    ended = asyncio.ensure_future(finished())
    done.append(ended)
    await ended
    await asyncio.sleep(0.01)       # all have begun
    return kept


def say_ready():
    with open(TRUTH, "w", encoding="utf-8") as out:
        json.dump(told, out)
    print("ready", flush=True)


def stop_here():
    say_ready()
    while True:
        signal.pause()


def tell_and_go_on():
    """Not in a task: all of them wait."""
    tell()
    threads_done.release()
    if KIND == "gathered":
        say_ready()


async def main(tag):
    kept = await tasks(tag)
    if tag == "main":
        tell()
        stop_here()
    asyncio.get_running_loop().call_later(0.01, tell_and_go_on)
    await asyncio.gather(*kept)


def loops():
    for i in range(2):
        threading.Thread(target=lambda tag: asyncio.run(main(tag)), args=("thread-%d" % i,), daemon=True).start()
        threads_done.acquire()
    asyncio.run(main("main"))


async def eager_step():
    tell()
    stop_here()


async def eager():
    kept = await tasks("main")
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    kept.append(asyncio.ensure_future(eager_step()))


async def mixed():
    kept = await tasks("c")
    asyncio.Task = asyncio.tasks._CTask = asyncio.tasks.Task = asyncio.tasks._PyTask
    asyncio.Future = asyncio.futures._CFuture = asyncio.futures.Future = asyncio.futures._PyFuture
    kept += await tasks("python")
    assert type(kept[0]) is not type(kept[-2])
    tell()
    stop_here()


async def lively():
    async def short():
        await asyncio.sleep(0)

    async def spawn():
        while True:
            await asyncio.gather(*[asyncio.ensure_future(short()) for _ in range(COUNT)])

    kept = [Mine(handle(), loop=asyncio.get_running_loop(), name="stable-%d" % i) for i in range(50)]
    await asyncio.sleep(0.01)
    tell()
    told[:] = [task for task in told if task["name"].startswith("stable-")]
    say_ready()
    await asyncio.gather(spawn(), *kept)


awaited_by = {}     # name -> names


def child(parent, name, coro=None):
    """A task that `parent` is about to await."""
    awaited_by.setdefault(name, []).append(parent)
    return named(name, coro)


def named(name, coro=None):
    return asyncio.get_running_loop().create_task(coro or handle(), name=name)


async def awaits_task(me):
    await child(me, me + "/task")


async def gathers(me):
    await asyncio.gather(child(me, me + "/1"), asyncio.gather(child(me, me + "/2"), child(me, me + "/3")))


async def waits(me):
    await asyncio.wait([child(me, me + "/%d" % i) for i in range(3)])


async def waits_for_first(me):
    await asyncio.wait([child(me, me + "/%d" % i) for i in range(2)], return_when=asyncio.FIRST_COMPLETED, timeout=LONG)


async def waits_for(me):
    await asyncio.wait_for(child(me, me + "/task"), LONG)


async def shields(me):
    await asyncio.shield(child(me, me + "/task"))


async def takes_as_completed(me):
    for first in asyncio.as_completed([child(me, me + "/%d" % i) for i in range(2)]):
        await first


async def groups(me):
    async with asyncio.TaskGroup() as group:
        for i in range(2):
            awaited_by[me + "/%d" % i] = [me]
            group.create_task(handle(), name=me + "/%d" % i)


async def nested_groups(me):
    async with asyncio.TaskGroup() as group:
        awaited_by[me + "/in"] = [me]
        group.create_task(groups(me + "/in"), name=me + "/in")


async def times_out(me):
    async with asyncio.timeout(LONG):
        await child(me, me + "/task")


async def waits_for_an_event(me):
    await asyncio.Event().wait()


async def gathers_a_gathering(me):
    await child(me, me + "/in", gathers(me + "/in"))


async def tree():
    loop = asyncio.get_running_loop()
    ways = [awaits_task, gathers, waits, waits_for_first, waits_for, shields, takes_as_completed, waits_for_an_event,
            gathers_a_gathering]
    if sys.version_info >= (3, 11):
        ways += [groups, nested_groups, times_out]
    parents = [named(way.__name__, way(way.__name__)) for way in ways]
    shared = named("shared")
    named("odd").add_done_callback(lambda task: None)

    async def shares():
        await shared
    for name in "one", "two":
        awaited_by.setdefault("shared", []).append(name)
        named(name, shares())

    def all_stand():
        tell()
        for task in told:
            task["awaited_by"] = sorted(awaited_by.get(task["name"], ["Task-1"] if task["name"] in names else []))
        say_ready()
    names = [parent.get_name() for parent in parents]
    loop.call_later(0.05, all_stand)
    await asyncio.gather(*parents)


INSIDE = """
import asyncio, json, os, threading
async def handle():
    await asyncio.sleep(100000)
async def main():
    kept = [asyncio.ensure_future(handle()) for _ in range(3)]
    asyncio.get_running_loop().call_later(0.01, tell)
    await asyncio.gather(*kept)
def tell():
    told = [{"id": id(t), "name": t.get_name(), "tid": threading.get_native_id(), "running": False,
             "functions": ["main"] if t.get_name() == "Task-1" else ["handle", "sleep"]} for t in asyncio.all_tasks()]
    with os.fdopen(OUT, "w") as out:
        json.dump(told, out)
asyncio.run(main())
"""


def interpreters():
    try:
        import _interpreters as subinterpreters
        run = subinterpreters.exec
    except ImportError:
        import _xxsubinterpreters as subinterpreters
        run = subinterpreters.run_string
    ours, theirs = os.pipe()
    code = INSIDE.replace("OUT", str(theirs))
    threading.Thread(target=lambda: run(subinterpreters.create(), code), daemon=True).start()
    with os.fdopen(ours) as answer:
        told.extend(json.load(answer))
    asyncio.run(main("main"))


if KIND == "uvloop":
    import uvloop
    uvloop.install()
if KIND in ("loops", "pure", "uvloop"):
    loops()
elif KIND == "forever":
    asyncio.get_event_loop().call_soon(say_ready)
    asyncio.get_event_loop().run_forever()
elif KIND == "interpreters":
    interpreters()
elif KIND == "many":
    asyncio.run(main("main"))
elif KIND == "gathered":
    asyncio.run(main("gathered"))
else:
    asyncio.run({"eager": eager, "lively": lively, "mixed": mixed, "tree": tree}[KIND]())
