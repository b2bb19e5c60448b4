# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where _asyncio's futures and tasks have their fields, found in this process' own memory: "name offset" lines.
It takes the offset at which an object has the address of what it is known to have."""
import asyncio
import struct
import sys

memory = open("/proc/self/mem", "rb")


def words(obj):
    memory.seek(id(obj))
    raw = memory.read(type(obj).__basicsize__)
    return struct.unpack("%dQ" % (len(raw) // 8), raw[:len(raw) // 8 * 8])


def int_at(obj, at):
    memory.seek(id(obj) + at)
    return struct.unpack("i", memory.read(4))[0]


def where(obj, other):
    at = [8 * i for i, word in enumerate(words(obj)) if word == id(other) and 8 * i >= object.__basicsize__]
    assert len(at) == 1, (obj, other, at)
    return at[0]


def where_list_of_callbacks(future, callback):
    """The list is copied before anybody sees it: it is known by its type, and by its first item."""
    for i, word in enumerate(words(future)):
        if 8 * i >= object.__basicsize__ and word % 8 == 0 and word:
            memory.seek(word)
            head = memory.read(object.__basicsize__ + 16)
            kind, count, items = struct.unpack("3Q", head[-24:])
            if kind == id(list) and count:
                memory.seek(items)
                pair = struct.unpack("Q", memory.read(8))[0]
                memory.seek(pair + object.__basicsize__ + 8)
                if struct.unpack("Q", memory.read(8))[0] == id(callback):
                    return 8 * i
    raise AssertionError("no list of callbacks")


def where_state(loop):
    pending, done, cancelled = (asyncio.Future(loop=loop) for _ in range(3))
    done.set_result(None)
    cancelled.cancel()
    at = [i for i in range(object.__basicsize__, asyncio.Future.__basicsize__ - 3, 4)
          if (int_at(pending, i), int_at(cancelled, i), int_at(done, i)) == (0, 1, 2)]
    assert len(at) == 1, at
    return at[0]


def main():
    assert asyncio.Task.__module__ == "_asyncio", "made by Python classes"
    loop = asyncio.new_event_loop()
    future = asyncio.Future(loop=loop)
    first, second = lambda f: None, lambda f: None
    future.add_done_callback(first)
    future.add_done_callback(second)

    async def wait():
        await future
    coro, name = wait(), "a name of its own, %d" % id(future)
    task = asyncio.Task(coro, loop=loop, name=name)
    for _ in range(2):
        loop.call_soon(loop.stop)
        loop.run_forever()
    found = {
        "head": object.__basicsize__,
        "loop": where(future, loop), "callback0": where(future, first),
        "callbacks": where_list_of_callbacks(future, second), "state": where_state(loop),
        "future_bytes": asyncio.Future.__basicsize__, "fut_waiter": where(task, future),
        "coro": where(task, coro), "name": where(task, task.get_name()),
        "task_bytes": asyncio.Task.__basicsize__,
    }
    for item in found.items():
        print("%s %d" % item)
    future.cancel()
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    sys.stdout.flush()


main()
