# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""held_types.py TRUTH SESSIONS [churn]: holds objects of many types, and writes what gc.get_objects() and sys.getsizeof() say.

"gc": type -> [objects, bytes] of all that the collector knows. "held": the same of objects that it does not know, and of
which this program knows all: a lower limit. "large": the bytes of the largest ones, by type and size. churn: makes and
drops others at full speed, until it is killed.
"""
import array
import collections
import gc
import json
import sys


class Session(object):
    def __init__(self, i):
        self.i = i
        self.data = bytearray(2000)
        self.history = [str(j + 1000) for j in range(20)]


class Slots(object):
    __slots__ = ("a", "b")

    def __init__(self, i):
        self.a = i * 1.5
        self.b = None


class MyDict(dict):
    pass


class MyList(list):
    pass


class MyText(str):
    pass


class Temporary(object):
    def __init__(self):
        self.numbers = [1.5 * i for i in range(20)]


class Outer(object):
    class Inner(object):
        pass


Point = collections.namedtuple("Point", "x y")

CACHE = {}
TEXT = "x" * 3000000
NUMBERS = list(range(100000))
TABLE = dict((i, None) for i in range(50000))


def name_of(kind):
    module = kind.__module__
    name = getattr(kind, "__qualname__", kind.__name__)
    return name if module == "builtins" else module + "." + name


def hold(sessions):
    """What stays, by a name; all lists of it are known to the collector, too."""
    for i in range(sessions):
        CACHE[i] = Session(i)
    return {
        "slots": [Slots(i) for i in range(3000)],
        "dicts": [MyDict((str(k), k) for k in range(i % 30)) for i in range(700)],
        "lists": [MyList(range(i % 50)) for i in range(800)],
        "texts": [MyText("x" * (i % 100) + str(i)) for i in range(900)],
        "points": [Point(float(i), i) for i in range(4000)],
        "sets": [set(range(i % 40)) for i in range(600)],
        "frozen": [frozenset(range(i % 40)) for i in range(500)],
        "ordered": [collections.OrderedDict((k, k) for k in range(i % 20)) for i in range(300)],
        "deques": [collections.deque(range(i % 300)) for i in range(400)],
        "arrays": [array.array("d", range(i % 60)) for i in range(350)],
        "inner": [Outer.Inner() for i in range(250)],
        "bytes": [b"%d" % i + b"z" * (1000 + i) for i in range(450)],
        "wide": [u"\u20ac" * (600 + i) for i in range(250)],
        "tuples": [tuple(range(i, i + 200)) for i in range(150)],
        "ints": [3 ** (i * 40) for i in range(330)],
        "functions": [(lambda i=i: i) for i in range(1111)],
    }


def add(book, o):
    row = book.setdefault(name_of(type(o)), [0, 0])
    row[0] += 1
    row[1] += sys.getsizeof(o)


def known_to_gc():
    """All but what this function makes: its own book has a row for each type, and a list for each."""
    gc.collect()
    book = {}
    for o in gc.get_objects():
        if o is not book:
            add(book, o)
    book["list"][0] += len(book)
    book["list"][1] += len(book) * sys.getsizeof([0, 0])
    return book


def known_to_us(held):
    book = {}
    for name in ("bytes", "wide", "ints", "texts"):
        for o in held[name]:
            add(book, o)
    return book


def main():
    path, sessions = sys.argv[1], int(sys.argv[2])
    json.dumps({"warm": [up for up in range(3)]})
    held = hold(sessions)
    books = {"held": known_to_us(held),
             "large": {"str": len(TEXT), "list": sys.getsizeof(NUMBERS), "dict": sys.getsizeof(TABLE)}}
    books["gc"] = known_to_gc()
    with open(path, "w") as f:
        f.write(json.dumps(books))
    print("ready", flush=True)
    while sys.argv[3:] == ["churn"]:
        [Temporary() for _ in range(1000)]
    sys.stdin.read()


main()
