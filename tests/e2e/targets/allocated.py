# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""allocated.py TRUTH COUNT: a heap with objects of all sizes, freed blocks and memory of threads that ended, and a book of it.

The book has, for each type, how many objects can be reached, and their bytes by sys.getsizeof(). Leaves at the end of
its input.
"""
import collections
import gc
import json
import sys
import threading

COUNT = int(sys.argv[2])
KEEP = []


class Session:
    def __init__(self, i):
        self.number = i
        self.data = bytearray(300 + i % 50)
        self.tags = [i, i + 1]


class Pair:
    __slots__ = ("left", "right")

    def __init__(self, left):
        self.left = left
        self.right = None


class Node(dict):
    pass


def closure(i):
    return lambda: i


def in_a_thread():
    """Every third list stays; a free-threaded build's heap of the thread is abandoned with it."""
    KEEP.append([[float(i)] for i in range(3 * COUNT)][::3])


def hold():
    KEEP.append([Session(i) for i in range(COUNT)])
    KEEP.append([Pair(1.5 * i) for i in range(COUNT)])
    names = ["key %d" % j for j in range(150)]
    KEEP.append([{name: None for name in names[:i % 150]} for i in range(COUNT)])
    KEEP.append([set(range(i % 40)) for i in range(COUNT)])
    KEEP.append([Node(a=i) for i in range(COUNT)])
    KEEP.append([closure(i) for i in range(COUNT)])
    # Larger than a pool's largest blocks, a page of 64 KiB, one of 512 KiB, a segment.
    KEEP.extend(bytearray(n) for n in (3000, 30000, 300000, 3000000, 40000000))
    KEEP.append([0] * 2000000)
    for _ in range(3):
        thread = threading.Thread(target=in_a_thread)
        thread.start()
        thread.join()


def free_some():
    """Leaves holes everywhere."""
    rest = [Session(i) for i in range(COUNT)] + [Pair(i) for i in range(COUNT)] + [[i] for i in range(COUNT)]
    KEEP.append(rest[::5])


def name(cls):
    return cls.__name__ if cls.__module__ == "builtins" else cls.__module__ + "." + cls.__name__


def count():
    """What the collector knows, and what can be reached from it."""
    objects, sizes = collections.Counter(), collections.Counter()
    waiting = gc.get_objects()
    seen = {id(thing) for thing in waiting}
    ours = {id(waiting), id(seen), id(objects), id(sizes)}
    while waiting:
        thing = waiting.pop()
        if id(thing) in ours:
            continue
        objects[name(type(thing))] += 1
        sizes[name(type(thing))] += sys.getsizeof(thing)
        for other in gc.get_referents(thing):
            if id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)
    return {"objects": dict(objects), "bytes": dict(sizes)}


def main():
    hold()
    free_some()
    gc.collect()
    book = count()
    gc.collect()
    with open(sys.argv[1], "w") as f:
        json.dump(book, f)
    print("ready", flush=True)
    sys.stdin.read()


main()
