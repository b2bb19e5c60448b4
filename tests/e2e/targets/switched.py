# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""switched.py TRUTH KIND [COUNT]: greenlets that wait for another one. Says "ready" when all do.

Kinds: tree (each way to be suspended, in two threads), many (COUNT of one function), gevent (COUNT that
wait for an event, and some that sleep).

TRUTH: of each greenlet, by id(), what greenlet says: parent, state, functions and lines, innermost
first; with the type's name and the tid of its thread.
"""
import gc
import json
import os
import sys
import threading
import time

# interpreters that have no greenlet of their own
sys.path.append(os.path.join(os.environ.get("TARGET_SCRATCH", ""),
                             "greenlet-%d.%d" % sys.version_info[:2]))
import greenlet  # noqa: E402

FOUND = {}
KEPT = []


def back():
    greenlet.getcurrent().parent.switch()


def deep(n):
    if n:
        return deep(n - 1)
    back()


def generator():
    back()
    yield 1


def in_generator():
    return list(generator())


class Ordered:
    """C code calls a function of Python in its turn."""

    def __lt__(self, other):
        back()
        return False


def in_c():
    return sorted([Ordered(), Ordered()])


def failing():
    try:
        raise ValueError("on purpose")
    except ValueError:
        back()


def ends():
    return 1


class Own(greenlet.greenlet):
    """Has attributes, and its function as a method."""

    def __init__(self, n):
        greenlet.greenlet.__init__(self)
        self.n = n

    def run(self):
        deep(self.n)


def parent_of_others():
    inner = greenlet.greenlet(deep)
    inner.switch(2)
    KEPT.append(inner)
    back()


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def note(one, tid, state):
    frame, frames = one.gr_frame if state == "suspended" else None, []
    while frame:
        frames.append([name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    FOUND[id(one)] = {"type": type(one).__name__, "parent": one.parent and id(one.parent),
                      "tid": tid, "state": state, "frames": frames}


def tid():
    return threading.get_native_id() if hasattr(threading, "get_native_id") else None


def note_mine():
    """All greenlets of this thread, as they are now."""
    me = greenlet.getcurrent()
    for one in [o for o in gc.get_objects() if isinstance(o, greenlet.greenlet)]:
        main = one
        while main.parent:
            main = main.parent
        if main is me:
            note(one, tid(), "running" if one is me else "ended" if one.dead else
                 "suspended" if one else "new")


def start(function, *args):
    one = greenlet.greenlet(function)
    KEPT.append(one)
    one.switch(*args)
    return one


def tree():
    for function in in_generator, in_c, failing, ends, parent_of_others:
        start(function)
    for n in 0, 3, 30:
        start(deep, n)
        own = Own(n)
        KEPT.append(own)
        own.switch()
    KEPT.append(greenlet.greenlet(deep))
    KEPT.append(greenlet.greenlet(ends, own))
    note_mine()


def many(n):
    for _ in range(n):
        start(deep, 5)
    note_mine()


def say_ready():
    with open(sys.argv[1], "w") as f:
        json.dump(FOUND, f)
    print("ready", flush=True)


def run_gevent(n):
    import gevent
    from gevent.event import Event
    event = Event()

    def wait(depth):
        if depth:
            return wait(depth - 1)
        event.wait()

    def tell():
        """Of each greenlet what gevent's own greenlets say; this one ends."""
        main = gevent.get_hub().parent
        for one in [*spawned, main]:
            note(one, tid(), "suspended")
        say_ready()

    spawned = [gevent.spawn(wait, 2) for _ in range(n)] + \
        [gevent.spawn(gevent.sleep, 100000) for _ in range(3)]
    gevent.spawn_later(0.2, tell)
    gevent.joinall(spawned)


def main():
    kind, count = sys.argv[2], [int(n) for n in sys.argv[3:]]
    if kind == "gevent":
        run_gevent(*count)
    if kind == "tree":
        begun = threading.Event()
        threading.Thread(target=lambda: (tree(), begun.set(), time.sleep(100000)), daemon=True).start()
        begun.wait()
    globals()[kind](*count)
    say_ready()
    time.sleep(100000)


if __name__ == "__main__":
    main()
