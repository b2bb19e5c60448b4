# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Python called by C called by Python: keys, hooks, special methods, ctypes."""
import functools
import itertools
import json
import re

from rehearse import Play

try:
    import ctypes
except ImportError:
    ctypes = None


def key(i):
    return -i


def add(a, b):
    return a + b


def compare(a, b):
    return (a > b) - (a < b)


def upper(match):
    return match.group().upper()


def hook(obj):
    for i in range(50):
        i & 3
    return obj


def default(obj):
    return [1, 2]


class Number:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value

    def __add__(self, other):
        return Number(self.value + other.value)

    def __index__(self):
        return self.value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return self.value == other.value

    def __getitem__(self, i):
        if i > 20:
            raise IndexError(i)
        return i

    def __getattr__(self, name):
        return name

    @property
    def double(self):
        return 2 * self.value

    def __call__(self, n):
        return sum(map(key, range(n)))


def from_c(a, b):
    a, b = a[0], b[0]
    return (a > b) - (a < b)


if ctypes:
    COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int),
                               ctypes.POINTER(ctypes.c_int))
    qsort = ctypes.CDLL(None).qsort
    qsort.restype = None
    compare_from_c = COMPARE(from_c)


def with_ctypes():
    numbers = (ctypes.c_int * 40)(*[i * 7919 % 41 for i in range(40)])
    qsort(numbers, len(numbers), ctypes.sizeof(ctypes.c_int), compare_from_c)


def act():
    sorted(range(300), key=key)
    functools.reduce(add, range(300))
    sorted((i * 7919 % 101 for i in range(101)), key=functools.cmp_to_key(compare))
    re.sub("[a-z]+", upper, "some words of a text " * 8)
    text = json.dumps([{"a": i, "b": {1, 2}} for i in range(8)], default=default)
    json.loads(text, object_hook=hook)
    numbers = [Number(i * 7 % 19) for i in range(19)]
    sorted(numbers * 6)
    functools.reduce(add, numbers)
    set(numbers)
    list(numbers[0])
    [n.double for n in numbers]
    [n.missing for n in numbers]
    [n(20) for n in numbers]
    max(numbers, key=key_of)
    list(itertools.takewhile(below, itertools.count()))
    list(range(Number(5)))
    if ctypes:
        with_ctypes()


def key_of(n):
    return n.value


def below(i):
    return i < 100


run = Play(act, ["key", "add", "compare", "Number.__lt__"]
           + (["from_c"] if ctypes else [])).run
