# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""__del__ and weakref callbacks: when a reference goes, when a frame ends, in the collector."""
import gc
import weakref

from rehearse import Play


def spin(n):
    for i in range(n):
        i & 3


class Dying:
    def __del__(self):
        spin(60)


class Referred:
    pass


def callback(reference):
    spin(60)


def finalize_callback():
    spin(60)


def local():
    thing = Dying()     # goes when the frame does
    spin(20)
    return thing.__class__


def nested(n):
    thing = Dying()
    return nested(n - 1) if n else id(thing)


def overwritten():
    thing = Dying()
    thing = None
    things = [Dying() for _ in range(5)]
    things.clear()
    return thing


def weak():
    for _ in range(5):
        thing = Referred()
        reference = weakref.ref(thing, callback)
        del thing
        assert reference() is None
    thing = Referred()
    weakref.finalize(thing, finalize_callback)
    del thing
    table = weakref.WeakValueDictionary()
    table[1] = Referred()


def cycles():
    for _ in range(5):
        a, b = Dying(), Dying()
        a.other, b.other = b, a
    del a, b
    gc.collect()


def generator():
    thing = Dying()
    yield id(thing)
    yield 2


def dropped_generator():
    held = [generator()]        # a local itself is held by what the profile function sees, up to 3.12
    next(held[0])
    del held[0]


def act():
    local()
    nested(20)
    overwritten()
    weak()
    cycles()
    dropped_generator()


def before():
    gc.disable()        # or it collects anywhere
    gc.collect()
    gc.freeze() if hasattr(gc, "freeze") else None


def after():
    gc.unfreeze() if hasattr(gc, "unfreeze") else None
    gc.enable()


run = Play(act, ["spin"], before=before, after=after).run
