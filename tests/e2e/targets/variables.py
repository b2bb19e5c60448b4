# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""variables.py TRUTH: a thread that sleeps, with variables of all kinds.

Says "ready", and writes {"tid": ..., "frames": {function: {name: text}}}: what Python itself says of plain values,
"<TYPE at ADDRESS>" of others. Leaves at the end of its input.
"""
import collections
import enum
import json
import os
import sys
import threading
import time

TRUTH = {}
BEGUN = threading.Event()


class Color(enum.IntEnum):
    RED = 1


class Text(str):
    pass


class Thing:
    pass


def other(value):
    """An object of no plain type, as its type calls itself."""
    return "<%s at 0x%x>" % (type(value).__name__, id(value))


def note(function, variables, **special):
    """Plain values have their repr(), others what is said of them."""
    texts = {name: special.get(name) or repr(value) for name, value in variables.items()}
    TRUTH[function] = texts


def tid():
    if hasattr(threading, "get_native_id"):
        return threading.get_native_id()
    return int(os.readlink("/proc/thread-self").rpartition("/")[2])


def numbers(zero, one=1, *rest, minus=-1, **more):
    digit, two_digits = (1 << 30) - 1, 1 << 30
    big, small, yes, no, nothing = 10 ** 190, -(10 ** 40), True, False, None
    pi, whole, long_whole, tiny, huge, minus_zero = 3.14159, 2.0, 1e15, 5e-324, 1.7976931348623157e308, -0.0
    nan, infinite, color = float("nan"), float("-inf"), Color.RED
    note("numbers", locals(), color=other(color))
    strings("argument")


def strings(text):
    empty, quote, both, line = "", "it's", "it's \"both\"", "a\tb\nc\\d\r\x00\x7f\x1b[31m"
    latin, wide, wider = "caf\u00e9", "\u20ac and \u0416", "\U0001f40d snake"
    data, odd_data, no_data = b"bytes", b"\x00\xff'\n", b""
    long_text, long_data = "x" * 500, b"y" * 500
    subclass = Text("other")
    note("strings", locals(), subclass=other(subclass), long_text="'" + "x" * 199 + "...",
         long_data="b'" + "y" * 198 + "...")
    containers()


def containers():
    empty_list, empty_tuple, empty_dict, empty_set, empty_frozen = [], (), {}, set(), frozenset()
    items, single, pairs, members, frozen = [1, "two", None], (1,), {"a": 1, 2: (3, 4)}, {7}, frozenset(["z"])
    deep, deep_dict = [[1, [2]], (3, (4,)), {5: {6: 7}}], {"a": [1, []], "b": {1: 2}}
    many, removed, removed_members = list(range(25)), {n: n for n in range(12)}, set(range(40))
    for n in range(10):
        del removed[n]
    removed_members -= set(range(1, 40))
    circle = []
    circle.append(circle)
    ordered, thing, kind, routine = collections.OrderedDict(x=1), Thing(), Thing, containers
    del n
    note("containers", locals(), deep="[[1, [...]], (3, (...)), {5: {...}}]", deep_dict="{'a': [1, [...]], 'b': {1: 2}}",
         many="[" + ", ".join(map(str, range(20))) + ", ...]", circle="[[[...]]]",
         ordered=other(ordered).replace("<", "<collections.") if collections.OrderedDict.__flags__ & 1 << 9 == 0
         else other(ordered), thing=other(thing), kind="<class 'Thing'>", routine=other(routine))
    cells("shared", 1)


def cells(shared, plain):
    value, unbound = [1], 2
    del unbound

    def inner(own=5):
        shared_too, value_too = shared, value
        note("inner", locals())
        generator()
    note("cells", locals(), inner=other(inner))
    inner()


def generator():
    """A generator's variables are in the generator."""
    def numbers_of(limit):
        note("numbers_of", {"limit": limit})
        sleep()
        yield limit
    for number in numbers_of(9):
        assert number


def many_variables():
    exec("def many(%s): sleep()\nmany(%s)" % (", ".join("v%d=%d" % (n, n) for n in range(60)), ""), {"sleep": sleep})


def sleep():
    BEGUN.set()
    time.sleep(10000)


def main():
    path = sys.argv[1]
    ids = []
    thread = threading.Thread(target=lambda: (ids.append(tid()), numbers(0, 1, 2, 3, minus=-5, extra="e")), daemon=True)
    thread.start()
    assert BEGUN.wait(60)
    BEGUN.clear()
    second = threading.Thread(target=lambda: (ids.append(tid()), many_variables()), daemon=True)
    second.start()
    assert BEGUN.wait(60)
    with open(path, "w") as f:
        json.dump({"tid": ids[0], "many": ids[1], "frames": TRUTH}, f)
    print("ready", flush=True)
    os.read(0, 1)
    os._exit(0)


main()
