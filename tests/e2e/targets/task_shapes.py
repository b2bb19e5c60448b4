# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tasks that await one another in every way, and burn CPU: who awaits whom is in their functions' names.

    task_shapes.py TRUTH SECONDS HOW SHAPE...

Each shape takes so many seconds of CPU time. HOW: "c"; "pure": asyncio without _asyncio; "eager":
with the eager task factory (3.12+); "uvloop". SHAPE "all": each one that this version has; "anyio",
if it can be imported. TRUTH gets {"version", "chains": {function: [chain, ...]}, "shapes": {shape: leaf functions}, "skipped"}: the
functions of this file in the stack of a leaf, outermost first. A stack that has the event loop
instead begins with a function "drive...".
"""
import sys

if "pure" in sys.argv[3:4]:
    sys.modules["_asyncio"] = None

import asyncio
import json
import threading
import time

try:
    import anyio
except ImportError:
    anyio = None

CHAINS = {}             # leaf function -> the chains that it may have
SHAPES = {}             # shape -> its main, and what starts that
SKIPPED = {}
BURN_US = 800
WIDTH = 3
DEPTH = 4
NEEDS = {"group": (3, 11), "groups": (3, 11), "timeout": (3, 11), "group_and_await": (3, 11)}


def burn(us=BURN_US):
    end = time.perf_counter() + us * 1e-6
    while time.perf_counter() < end:
        pass


def define(text, **names):
    """A function with a name of its own."""
    scope = dict(globals(), **names)
    exec(compile(text, __file__, "exec"), scope)
    return scope[text.split("def ")[1].split("(")[0]]


def leaf(shape, number, chain, body="burn()\n  await asyncio.sleep(0)", rounds=12):
    """A coroutine function that burns CPU; chain: the functions of those who await it."""
    name = f"leaf_{shape}_{number}"
    made = define(f"async def {name}():\n await asyncio.sleep(0)\n for _ in range({rounds}):\n  {body}\n")
    CHAINS.setdefault(name, []).append([*chain, name, "burn"])
    return made


def between(shape, number, inner, how="await asyncio.ensure_future(inner())"):
    """A coroutine function that awaits another one in a task of its own."""
    return define(f"async def handler_{shape}_{number}():\n await asyncio.sleep(0)\n {how}\n", inner=inner)


def shape(start=None):
    def note(main):
        name = main.__name__[len("main_"):]
        if sys.version_info < NEEDS.get(name, (3, 0)):
            SKIPPED[name] = "not in this version"
        elif name == "anyio" and not anyio:
            SKIPPED[name] = "anyio is not installed"
        else:
            SHAPES[name] = main(), start or drive
        return main
    return note


def repeated(text, **names):
    """The main coroutine function of a shape, which awaits that until the time is over."""
    return define(text.replace("ROUND", "while time.process_time() < UNTIL[0]"), UNTIL=UNTIL, **names)


UNTIL = [0]


def handlers(name, how="await asyncio.ensure_future(inner())"):
    main = f"main_{name}"
    return [between(name, i, leaf(name, i, [main, f"handler_{name}_{i}"]), how) for i in range(WIDTH)]


def leaves(name, **more):
    return [leaf(name, i, [f"main_{name}"], **more) for i in range(WIDTH)]


def drive(main):
    run(main())


# ---- the shapes ----

@shape()
def main_await():
    return repeated("async def main_await():\n ROUND:\n  for each in fs:\n"
                    "   await asyncio.ensure_future(each())\n", fs=handlers("await"))


@shape()
def main_gather():
    return repeated("async def main_gather():\n ROUND:\n  await asyncio.gather(*[f() for f in fs])\n",
                    fs=handlers("gather"))


@shape()
def main_gathers():
    """A gather() of gather()s, in one task."""
    return repeated("async def main_gathers():\n ROUND:\n"
                    "  await asyncio.gather(asyncio.gather(*[f() for f in fs]), asyncio.gather(fs[0](), fs[1]()))\n",
                    fs=handlers("gathers", "await asyncio.gather(inner(), inner())"))


@shape()
def main_recursion():
    """gather() recurses: a leaf of each depth, and every function has one name."""
    fs = [leaf("recursion", depth, ["main_recursion"] + ["recurse"] * depth) for depth in range(DEPTH)]
    recurse = define("async def recurse(depth):\n"
                     " more = [recurse(depth + 1)] if depth + 1 < len(fs) else []\n"
                     " await asyncio.gather(fs[depth](), *more)\n", fs=fs)
    return repeated("async def main_recursion():\n ROUND:\n  await asyncio.gather(fs[0](), recurse(1))\n",
                    fs=fs, recurse=recurse)


@shape()
def main_wait():
    return repeated("async def main_wait():\n ROUND:\n"
                    "  await asyncio.wait([asyncio.ensure_future(f()) for f in fs])\n", fs=handlers("wait"))


@shape()
def main_wait_for():
    return repeated("async def main_wait_for():\n ROUND:\n  for f in fs:\n"
                    "   await asyncio.wait_for(asyncio.ensure_future(f()), 100)\n", fs=leaves("wait_for"))


@shape()
def main_shield():
    return repeated("async def main_shield():\n ROUND:\n  for f in fs:\n"
                    "   await asyncio.shield(asyncio.ensure_future(f()))\n", fs=handlers("shield"))


@shape()
def main_as_completed():
    return repeated("async def main_as_completed():\n ROUND:\n"
                    "  for each in asyncio.as_completed([f() for f in fs]):\n   await each\n",
                    fs=leaves("as_completed"))


@shape()
def main_group():
    return repeated("async def main_group():\n ROUND:\n  async with asyncio.TaskGroup() as group:\n"
                    "   for f in fs:\n    group.create_task(f())\n", fs=handlers("group"))


@shape()
def main_groups():
    """A group in each task of a group."""
    return repeated("async def main_groups():\n ROUND:\n  async with asyncio.TaskGroup() as group:\n"
                    "   for f in fs:\n    group.create_task(f())\n",
                    fs=handlers("groups", "async with asyncio.TaskGroup() as group:\n"
                                "  group.create_task(inner())\n  group.create_task(inner())"))


@shape()
def main_group_and_await():
    return repeated("async def main_group_and_await():\n ROUND:\n  async with asyncio.TaskGroup() as group:\n"
                    "   for task in [group.create_task(f()) for f in fs]:\n    await task\n",
                    fs=leaves("group_and_await"))


@shape()
def main_anyio():
    return repeated("async def main_anyio():\n ROUND:\n  async with anyio.create_task_group() as group:\n"
                    "   for f in fs:\n    group.start_soon(f)\n", anyio=anyio,
                    fs=handlers("anyio", "async with anyio.create_task_group() as group:\n"
                                "  group.start_soon(inner)\n  group.start_soon(inner)"))


@shape()
def main_timeout():
    return repeated("async def main_timeout():\n ROUND:\n  async with asyncio.timeout(100):\n"
                    "   await asyncio.gather(*[f() for f in fs])\n", fs=handlers("timeout"))


@shape()
def main_timed_out():
    """Tasks that are cancelled by a timeout while they work."""
    return repeated("async def main_timed_out():\n ROUND:\n  for f in fs:\n   try:\n"
                    "    await asyncio.wait_for(asyncio.ensure_future(f()), 0.004)\n"
                    "   except asyncio.TimeoutError:\n    pass\n", fs=leaves("timed_out", rounds=1000))


@shape()
def main_cancelled():
    return repeated("async def main_cancelled():\n ROUND:\n"
                    "  tasks = [asyncio.ensure_future(f()) for f in fs]\n"
                    "  asyncio.get_event_loop().call_later(0.006, tasks[1].cancel)\n"
                    "  await asyncio.gather(*tasks, return_exceptions=True)\n", fs=handlers("cancelled"))


@shape()
def main_raising():
    return repeated("async def main_raising():\n ROUND:\n"
                    "  await asyncio.gather(*[f() for f in fs], return_exceptions=True)\n",
                    fs=leaves("raising", body="burn()\n  raise ValueError"))


@shape()
def main_short():
    """Tasks that live for 100 us."""
    return repeated("async def main_short():\n ROUND:\n"
                    "  await asyncio.gather(*[f() for f in fs for _ in range(20)])\n",
                    fs=leaves("short", body="burn(100)", rounds=1))


@shape()
def main_nobody():
    """Tasks that nobody awaits, in a set."""
    fs = [leaf("nobody", i, []) for i in range(WIDTH)]
    return repeated("async def main_nobody():\n ROUND:\n  for f in fs:\n"
                    "   task = asyncio.ensure_future(f())\n   kept.add(task)\n"
                    "   task.add_done_callback(kept.discard)\n"
                    "  while kept:\n   await asyncio.sleep(0.001)\n", fs=fs, kept=set())


def drive_thread(main):
    drive(main)


def four_threads(main):
    threads = [threading.Thread(target=drive_thread, args=(main,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@shape(start=four_threads)
def main_threads():
    return repeated("async def main_threads():\n ROUND:\n  await asyncio.gather(*[f() for f in fs])\n",
                    fs=handlers("threads"))


def drive_from_outside(main):
    """run_coroutine_threadsafe(): a thread awaits, and no task."""
    loop = new_loop()
    thread = threading.Thread(target=drive_loop, args=(loop,))
    thread.start()
    while time.process_time() < UNTIL[0]:
        asyncio.run_coroutine_threadsafe(main(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def drive_loop(loop):
    loop.run_forever()
    loop.close()


@shape(start=drive_from_outside)
def main_threadsafe():
    return define("async def main_threadsafe():\n await asyncio.gather(*[f() for f in fs])\n", fs=leaves("threadsafe"))


# ---- running them ----

def new_loop():
    if HOW == "uvloop":
        import uvloop
        return uvloop.new_event_loop()
    loop = asyncio.new_event_loop()
    if HOW == "eager":
        loop.set_task_factory(asyncio.eager_task_factory)
    return loop


def run(coro):
    loop = new_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(coro)
    finally:
        loop.close()


HOW = sys.argv[3] if len(sys.argv) > 3 else "c"


def main():
    truth, seconds, _, *names = sys.argv[1:]
    if HOW == "pure":
        assert asyncio.Task is asyncio.tasks._PyTask
    names = list(SHAPES) if names == ["all"] else [name for name in names if name in SHAPES]
    for name in names:
        UNTIL[0] = time.process_time() + float(seconds)
        coroutine, start = SHAPES[name]
        start(coroutine)
    leaves_of = {name: [f for f in CHAINS if f.rpartition("_")[0] == "leaf_" + name] for name in names}
    with open(truth, "w") as f:
        json.dump({"version": sys.version_info[:3], "chains": CHAINS, "shapes": leaves_of, "skipped": SKIPPED}, f)


if __name__ == "__main__":
    main()
