# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Names of functions that have no symbol, read from files, against CPython's own objects.

targets/methods.py says by which names a running interpreter can call its C functions, list_methods.c
what the helper reads from the same files.
"""
import json
import struct
import subprocess

import pytest

from method_lists import MethodLists
from present import need
from processes import TIMEOUT
from pypi import PyPI, path_of

pytestmark = pytest.mark.interpreters("few")

COVERED = 0.95
FEW = 1000              # an interpreter has more
LOAD = 1


@pytest.fixture(scope="session")
def lists(scratch):
    return MethodLists(scratch)


def addresses(path):
    """A function: offset in the file -> address in the file."""
    head = path.read_bytes()[:65536]
    at, = struct.unpack_from("<Q", head, 32)
    loads = [struct.unpack_from("<IIQQQQ", head, at + 56 * i) for i in range(struct.unpack_from("<H", head, 56)[0])]
    loads = [(off, vaddr, size) for kind, _, off, vaddr, _, size in loads if kind == LOAD]
    return lambda off: next(vaddr + off - o for o, vaddr, size in loads if o <= off < o + size)


class Library:
    """What both say of one file."""

    def __init__(self, lists, path, offsets, bases):
        address = addresses(path)
        symbols = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True,
                                 timeout=TIMEOUT).stdout.splitlines()
        exported = {int(line.split()[0], 16) for line in symbols if line.split()[1] in "TtWwi"}
        ours = lists.of(path)
        self.path, self.bases = path, bases
        self.ours = {a: n for a, n in ours.items() if a not in exported}
        self.known = {address(int(o)): names for o, names in offsets.items()}
        self.known = {a: names for a, names in self.known.items() if a not in exported}
        self.wrong = {hex(a): (n, self.known[a][:4]) for a, n in self.ours.items()
                      if a in self.known and not self.is_right(n, self.known[a])}

    def is_right(self, name, known):
        owner, _, word = name.rpartition(".")
        owners = {o for o, w, _ in known if w == word}
        if not owners:
            return False
        if not owner:                   # "read"
            return True
        if owner.endswith(".*"):        # "_io.*.read": each of them is in this module
            return all(any(b.startswith(owner[:-1]) for b in self.bases.get(o, [o])) for o in owners)
        owners = {o.removeprefix("builtins.") for o in owners}
        return owner in owners or all(owner in self.bases.get(o, ()) for o in owners)

    def covered(self, *where):
        """(functions that have a name, all of them) of those that were found there."""
        wanted = [a for a, names in self.known.items() if {w for *_, w in names} & set(where)]
        return sum(a in self.ours for a in wanted), len(wanted)


def libraries(lists, interpreter, scratch, out, *modules):
    argv = interpreter.command("-B", scratch / "targets" / "methods.py", out / "names", *modules)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    said = json.loads((out / "names").read_text())
    for path, offsets in said["files"].items():
        real = type(out)(interpreter.root + path)
        if real.exists():
            yield Library(lists, real, offsets, said["bases"])


def is_judged(interpreter):
    """Its builtin modules have no ctypes where it is linked with musl."""
    if interpreter.libc == "musl":
        pytest.skip("it has no ctypes")


def test_names_are_those_of_python(lists, interpreter, scratch, out, capsys):
    is_judged(interpreter)
    found = list(libraries(lists, interpreter, scratch, out))
    covered = [sum(n) for n in zip(*(lib.covered("table", "slot") for lib in found))]
    judged = sum(len(lib.ours.keys() & lib.known.keys()) for lib in found)
    with capsys.disabled():
        print(f"\n{interpreter.name}: {len(found)} files, {judged} names judged; {covered[0]} of {covered[1]} functions"
              " have one")
    wrong = {str(lib.path): lib.wrong for lib in found if lib.wrong}
    assert not wrong, wrong
    assert covered[1] > FEW and covered[0] >= COVERED * covered[1], covered


def test_names_of_numpy_and_cython(lists, scratch, out, capsys):
    """numpy.random is written in Cython. NumPy gives its scalars' slots to their types at run time,
    so the file does not have these."""
    interpreter = need("pyenv-3.12.1")
    where = path_of(PyPI("NumPy", interpreter, ("numpy==2.3.4",)))
    found = [lib for lib in libraries(lists, interpreter, scratch, out, where, "numpy", "numpy.random")
             if "numpy" in str(lib.path)]
    counts = {lib.path.name: lib.covered("table") for lib in found}
    with capsys.disabled():
        print("\n" + ", ".join(f"{name.partition('.')[0]} {a} of {b}" for name, (a, b) in counts.items()))
    wrong = {str(lib.path): lib.wrong for lib in found if lib.wrong}
    assert not wrong, wrong
    assert {"_multiarray_umath", "_generator"} <= {name.partition(".")[0] for name in counts}
    assert all(a >= COVERED * b for a, b in counts.values()), counts
