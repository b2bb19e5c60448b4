# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Coroutines, generators and asynchronous generators, suspended in many ways; what each is at.

argv: ADDRESSES ANSWERS. ADDRESSES: "name address" lines. ANSWERS: what read_coroutines.c must print
about each: its name, its state, the functions and lines of what it awaits, outermost first, and the
address of what the innermost one awaits. Then "ready" on stdout; ends when stdin does.
"""
import gc
import inspect
import sys
import types

FRAMES_MAX = 256                # TASK_FRAMES_MAX
# From 3.14 on, as CPython's own tools: what has the type of the outermost one, and steps.
FOLLOWS_ALL = sys.version_info < (3, 14)


class Nothing:
    """An awaitable that is no coroutine, and never done."""

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        return None


NOTHING = Nothing()


@types.coroutine
def nap():
    yield


@types.coroutine
def by_yield_from(inner):
    first = 1
    yield from inner
    return first


async def leaf():
    await NOTHING


async def nested():
    await middle(1)


async def middle(n):
    x = [n,
         await leaf()]
    return x


async def napper():
    await nap()


async def recursion(n):
    if n:
        await recursion(
            n - 1)
    else:
        await leaf()


async def numbers():
    yield 1
    await middle(2)
    yield 2


async def in_async_for():
    async for i in numbers():
        pass


async def in_comprehension():
    return [i
            async for i in numbers()
            if i]


class Manager:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *what):
        await leaf()


class Entering(Manager):
    async def __aenter__(self):
        await leaf()


async def in_aenter():
    async with Entering():
        pass


async def in_aexit():
    try:
        async with Manager():
            raise KeyError
    finally:
        pass


async def survivor():
    try:
        yield 1
    finally:
        await leaf()


async def in_athrow():
    g = survivor()
    await g.asend(None)
    await g.athrow(KeyError("x"))


async def in_aclose():
    g = survivor()
    await g.__anext__()
    await g.aclose()


class ByWrapper:
    def __await__(self):
        return middle(3).__await__()


class ByGenerator:
    def __await__(self):
        yield from middle(4).__await__()


async def in_wrapper():
    await ByWrapper()


async def in_generator_await():
    await ByGenerator()


async def in_types_coroutine():
    await by_yield_from(leaf())


async def in_anext():
    g = numbers()
    await anext(g, 0)
    await anext(g, 0)


async def many_variables():
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = 1
    c0 = c1 = c2 = c3 = c4 = c5 = c6 = c7 = c8 = c9 = d0 = d1 = d2 = d3 = d4 = d5 = d6 = d7 = 2
    e0 = e1 = e2 = e3 = e4 = e5 = e6 = e7 = e8 = e9 = f0 = f1 = f2 = f3 = f4 = f5 = f6 = f7 = 3
    g0 = g1 = g2 = g3 = g4 = g5 = g6 = g7 = g8 = g9 = h0 = h1 = h2 = h3 = h4 = h5 = h6 = h7 = 4
    cell = lambda: (a0, c0)
    return [a1, cell, [c1, e1, g1,
                       (1, await leaf())], h1]


def plain():
    x = [i for i in range(3)]
    yield x
    yield 2


def from_list():
    yield from [1, 2]


async def running():
    print("ready", flush=True)
    sys.stdin.read()


def begun(coroutine, steps=1):
    for i in range(steps):
        coroutine.send(None)
    return coroutine


def exhausted(coroutine):
    for i in coroutine:
        pass
    return coroutine


def of(o, what):
    prefix = {"coroutine": "cr_", "generator": "gi_", "async_generator": "ag_"}[type(o).__name__]
    return getattr(o, prefix + what)


def awaited(o):
    return of(o, "yieldfrom" if type(o).__name__ == "generator" else "await")


def followed(o, outermost):
    """What follows in the chain if o is awaited; None: it ends."""
    name = type(o).__name__
    if type(o) is type(outermost) or FOLLOWS_ALL and name in ("coroutine", "generator"):
        return o
    if name in ("async_generator_asend", "async_generator_athrow"):
        return [r for r in gc.get_referents(o) if inspect.isasyncgen(r)][0]
    if FOLLOWS_ALL and name in ("coroutine_wrapper", "anext_awaitable"):
        return followed(gc.get_referents(o)[0], outermost)
    return None


def chain(o):
    outermost, frames, last = o, [], None
    while o is not None and len(frames) < FRAMES_MAX:
        frame = of(o, "frame")
        if frame:
            code = frame.f_code
            frames.append("%s:%d" % (getattr(code, "co_qualname", code.co_name), frame.f_lineno))
        last = awaited(o) if frame else None
        o = last if last is None else followed(last, outermost)
    return frames, last


def state(o):
    frame = of(o, "frame")
    if frame is None:
        return "ended"
    get = inspect.getcoroutinestate if inspect.iscoroutine(o) else inspect.getgeneratorstate
    if get(o) in (inspect.CORO_CREATED, inspect.GEN_CREATED):
        return "created"
    if of(o, "running"):
        return "running"
    return "yielded" if awaited(o) is None else "suspended"


def shapes():
    yield "created", nested()
    yield "nested", begun(nested())
    yield "again", begun(nested(), 3)
    yield "napper", begun(napper())
    yield "recursion", begun(recursion(100))
    yield "cut", begun(recursion(300))
    for f in (in_async_for, in_comprehension, in_aenter, in_aexit, in_athrow, in_aclose,
              in_wrapper, in_generator_await, in_types_coroutine, many_variables):
        yield f.__name__, begun(f())
    if sys.version_info >= (3, 10):
        yield "in_anext", begun(in_anext())
    yield "by_yield_from", begun(by_yield_from(nested()))
    yield "plain", begun(plain())
    yield "from_list", begun(from_list())
    yield "ended", exhausted(plain())
    yield "unbegun", plain()


def warm_up():
    """So that the bytecode is specialised."""
    for i in range(100):
        for name, o in shapes():
            if hasattr(o, "close"):
                try:
                    o.close()
                except RuntimeError:    # a coroutine that awaits in its end
                    pass


def tracer(frame, event, arg):
    return tracer


def main():
    sys.setrecursionlimit(5000)
    found = list(shapes())
    warm_up()
    found += [("warm_" + name, o) for name, o in shapes()]
    sys.settrace(tracer)
    found += [("traced_" + name, o) for name, o in shapes()]
    last = running()
    with open(sys.argv[1], "w") as addresses, open(sys.argv[2], "w") as answers:
        for name, o in found:
            frames, end = chain(o)
            addresses.write("%s %d\n" % (name, id(o)))
            answers.write("%s %s %s > %d\n" % (name, state(o), " ".join(frames),
                                               0 if end is None else id(end)))
        addresses.write("running %d\n" % id(last))
        answers.write("running running running:%d > 0\n" % (running.__code__.co_firstlineno + 2))
    try:
        last.send(None)
    except StopIteration:
        pass


main()
