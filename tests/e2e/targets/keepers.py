# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""keepers.py TRUTH COUNT: COUNT objects of each of several classes, each of which is kept in one known way.

Writes how many there are of each class, says "ready" when all are kept, and leaves at the end of its input.
"""
import asyncio
import collections
import functools
import gc
import json
import sys
import threading

COUNT = int(sys.argv[2])
LOCAL = threading.local()
KEPT = {}


def kept(cls):
    """Instances of the class are counted when they are made here."""
    KEPT["__main__." + cls.__name__] = COUNT
    return [cls(i) for i in range(COUNT)]


class Thing(object):
    def __init__(self, i):
        self.number = i


class InDict(Thing):
    pass


class InAttribute(Thing):
    pass


class InClosure(Thing):
    pass


class InCallback(Thing):
    pass


class InCache(Thing):
    pass


class InLocal(Thing):
    pass


class InTraceback(Thing):
    pass


class InVariable(Thing):
    pass


class InSession(Thing):
    pass


class InTask(Thing):
    pass


class InThread(Thing):
    pass


class InDeque(Thing):
    pass


class InSet(Thing):
    pass


class InCycle(Thing):
    pass


class InSlots(Thing):
    __slots__ = ()


class InGenerator(Thing):
    pass


class InC(Thing):
    pass


CACHE = {"user%d" % i: thing for i, thing in enumerate(kept(InDict))}
VARIABLE = kept(InVariable)
QUEUE = collections.deque(kept(InDeque))
SET = set(kept(InSet))


def twins():
    """Two classes of one name, in two modules; of a third one there are no objects."""
    def twin(module):
        return type("Twin", (Thing,), {"__module__": module})

    return [[twin("lib")(i) for i in range(20)], [twin("app")(i) for i in range(10)], twin("unused")]


TWINS = twins()


class Registry:
    things = kept(InAttribute)


def closure():
    things = kept(InClosure)
    return lambda: len(things)


HANDLER = closure()


class Bus:
    def __init__(self):
        self.seen = kept(InCallback)

    def on_event(self):
        return self.seen


CALLBACKS = [Bus().on_event]


@functools.lru_cache(maxsize=None)
def load(i):
    return InCache(i)


for number in range(COUNT):
    load(number)
KEPT["__main__.InCache"] = COUNT
LOCAL.things = kept(InLocal)


class Session:
    def __init__(self, i):
        self.data = InSession(i)


SESSIONS = {i: Session(i) for i in range(COUNT)}
KEPT["__main__.InSession"] = COUNT


class Slots:
    __slots__ = ("first", "held")

    def __init__(self, thing):
        self.first = None
        self.held = thing


SLOTS = tuple(Slots(thing) for thing in kept(InSlots))


def fails():
    things = kept(InTraceback)
    raise ValueError(len(things))


try:
    fails()
except ValueError as e:
    LAST_ERROR = e


def numbers():
    things = kept(InGenerator)
    for i in range(len(things)):
        yield i


GENERATOR = numbers()
next(GENERATOR)


def in_thread(started, ended):
    things = kept(InThread)
    started.set()
    ended.wait()
    return things


def in_cycles():
    for thing in kept(InCycle):
        thing.me = thing


def in_c():
    """The C library's memory refers to them, and nothing of Python does."""
    try:
        import ctypes
    except ImportError:
        return
    take = ctypes.pythonapi.Py_IncRef
    take.argtypes = [ctypes.py_object]
    calloc = ctypes.CDLL(None).calloc
    calloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    calloc.restype = ctypes.c_void_p
    words = (ctypes.c_void_p * COUNT).from_address(calloc(COUNT, 8))
    for i, thing in enumerate(kept(InC)):
        take(thing)
        words[i] = id(thing)


async def in_task(go):
    things = kept(InTask)
    await go.wait()
    return things


async def run():
    go = asyncio.Event()
    task = asyncio.ensure_future(in_task(go))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with open(sys.argv[1], "w") as f:
        json.dump(KEPT, f)
    print("ready", flush=True)
    await asyncio.get_event_loop().run_in_executor(None, sys.stdin.read)
    go.set()
    return await task


def main():
    gc.disable()        # else the cycles are freed
    in_cycles()
    in_c()
    started, ended = threading.Event(), threading.Event()
    thread = threading.Thread(target=in_thread, args=(started, ended))
    thread.start()
    started.wait()
    asyncio.new_event_loop().run_until_complete(run())
    ended.set()
    thread.join()


main()
