# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Code of all kinds: exec, eval, class bodies, imports (files, zip, frozen), decorators,
comprehensions, lambdas, match, walrus."""
import functools
import importlib
import os
import sys
import tempfile

from rehearse import Play

try:
    import zipfile
except ImportError:         # a build without binascii
    zipfile = None

MODULE = """
import functools

def spin(n):
    for i in range(n):
        i & 3

spin(300)

class Base:
    spin(100)
    class Inner:
        spin(100)

values = [i * 2 for i in range(100)]
pairs = {i: [j for j in range(3)] for i in range(30)}
"""

WALRUS = """
def walrus(n):
    if (m := n - 1) >= 0:
        return walrus(m)
    return [y for x in range(200) if (y := x * 2) > 5]
walrus(5)
"""

MATCH = """
class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
    @property
    def slow(self): return sum(range(50))
def matching(thing):
    match thing:
        case Point(x=0): return 0
        case Point(x, slow=s) if s > x: return s
        case [a, *rest]: return matching(a)
        case {"key": value}: return matching(value)
        case _: return None
for thing in [Point(0, 1), Point(1, 2), [Point(1, 2)], {"key": [Point(1, 2)]}, 7] * 5:
    matching(thing)
"""

EXCEPT_STAR = """
def groups():
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError:
        sum(range(100))
    except* TypeError:
        sum(range(100))
groups()
"""

EXTRAS = [(3, 8, WALRUS, "<walrus>"), (3, 10, MATCH, "<match>"), (3, 11, EXCEPT_STAR, "<star>")]
EXTRAS = [compile(source, name, "exec") for major, minor, source, name in EXTRAS
          if sys.version_info >= (major, minor)]


def spin(n):
    for i in range(n):
        i & 3


def counted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        spin(20)
        return function(*args, **kwargs)
    return wrapper


@counted
@counted
def decorated(n):
    return spin(n)


class Meta(type):
    def __new__(mcs, name, bases, scope):
        spin(50)
        return super().__new__(mcs, name, bases, scope)

    def __call__(cls, *args):
        return super().__call__(*args)


class Descriptor:
    def __set_name__(self, owner, name):
        spin(50)

    def __get__(self, obj, owner=None):
        return spin(30)


def classes():
    class Base(metaclass=Meta):
        field = Descriptor()
        spin(50)

        def __init_subclass__(cls, **kwargs):
            spin(50)

        def method(self):
            return self.field

    class Derived(Base):
        spin(50)

        def method(self):
            return super().method()

    Derived().method()


def comprehensions():
    [spin(20) for _ in range(20)]
    {spin(20) for _ in range(20)}
    {i: spin(20) for i in range(20)}
    list(spin(20) for _ in range(20))
    [[spin(10) for _ in range(3)] for _ in range(10)]


class ClosureCells:
    def method(self, n):
        base = n

        def inner(i):
            return base + i
        return sum(map(inner, range(n)))


directory = tempfile.mkdtemp(dir=os.environ["TARGET_SCRATCH"])


def before():
    with open(os.path.join(directory, "imported_again.py"), "w") as f:
        f.write(MODULE)
    if zipfile:
        with zipfile.ZipFile(os.path.join(directory, "pack.zip"), "w") as pack:
            pack.writestr("zipped_again.py", MODULE)
    sys.path[:0] = [directory, os.path.join(directory, "pack.zip")]


def after():
    del sys.path[:2]


def imports():
    for name in ("imported_again", "zipped_again")[:2 if zipfile else 1]:
        sys.modules.pop(name, None)
        importlib.import_module(name)
    import __phello__  # noqa: F401
    del sys.modules["__phello__"]


def quiet_imports():
    out, sys.stdout = sys.stdout, open(os.devnull, "w")     # __phello__ says hello
    try:
        imports()
    finally:
        sys.stdout.close()
        sys.stdout = out


def act():
    exec(compile("spin(200)\nfor i in range(200): i & 3\n", "<made>", "exec"), {"spin": spin})
    eval("spin(200) or [spin(10) for _ in range(10)]", {"spin": spin})
    for code in EXTRAS:
        exec(code, {"__name__": "extra"})
    decorated(50)
    classes()
    comprehensions()
    (lambda n: (lambda m: spin(m))(n))(200)
    ClosureCells().method(100)
    quiet_imports()


run = Play(act, ["spin"], before=before, after=after).run
