# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What CPython itself says of its C functions: for each file, their offsets in it and all names by
which this process can call them. Reads the objects of methods, attributes and types where they are.

Usage: methods.py OUT MODULE... (all modules of the standard library's extensions are loaded, too)
Layouts: PyCFunctionObject, PyDescrObject, PyMethodDef, PyGetSetDef, PyTypeObject of 3.6 to 3.15.
"""
import ctypes
import gc
import importlib
import json
import os
import sys
import sysconfig
import types

WORD = 8
# Words of PyTypeObject, from its beginning, whose functions no descriptor has.
SLOTS = {6: "tp_dealloc", 8: "__getattr__", 9: "__setattr__", 16: "__call__", 23: "tp_traverse", 24: "tp_clear",
         25: "tp_richcompare", 28: "__next__", 27: "__iter__", 37: "__init__", 38: "tp_alloc", 39: "__new__",
         40: "tp_free", 41: "tp_is_gc", 49: "__del__", 50: "__call__"}
NUMBERS, SEQUENCES, ASYNC, BUFFER = 12, 13, 10, 20
METHODS, GETSETS = 29, 31
FUNCTION = types.BuiltinFunctionType
METHOD, CLASS_METHOD = type(str.join), type(dict.__dict__["fromkeys"])
GETSET, WRAPPER = types.GetSetDescriptorType, type(int.__add__)
FIXED = {types.BuiltinFunctionType, METHOD, CLASS_METHOD, GETSET, WRAPPER}


def word(address):
    return ctypes.c_uint64.from_address(address).value


def text(address):
    return ctypes.string_at(address).decode("utf-8", "replace")


def load(names):
    dynload = [d for d in sys.path if d.endswith("lib-dynload")]
    found = [f.partition(".")[0] for d in dynload for f in sorted(os.listdir(d)) if f.endswith(".so")]
    for name in [*sys.builtin_module_names, *found]:
        if name.startswith(("_test", "xx", "_xx")) and name != "_xxsubinterpreters":
            continue
        try:
            importlib.import_module(name)
        except ImportError:
            pass
    for name in names:
        importlib.import_module(name)


def all_types():
    seen, todo = {}, [object]
    todo += [o for o in gc.get_objects() if isinstance(o, type)]
    while todo:
        kind = todo.pop()
        if id(kind) in seen:
            continue
        seen[id(kind)] = kind
        todo += type.__subclasses__(kind)
        todo += [v for v in type.__dict__["__dict__"].__get__(kind).values() if isinstance(v, type)]
        todo.append(type(kind))
    for module in list(sys.modules.values()):
        for value in list(getattr(module, "__dict__", {}).values()):
            seen.setdefault(id(type(value)), type(value))
    return list(seen.values())


class Names:
    def __init__(self):
        self.names = {}         # address -> {(owner, name)}
        self.bases = {}         # owner -> itself and its bases

    def add(self, address, owners, name):
        if address:
            self.names.setdefault(address, set()).update((o, name) for o in owners)

    def add_table(self, at, words, offsets, owners):
        while at and word(at):
            for offset in offsets:
                self.add(word(at + offset), owners, text(word(at)))
            at += words * WORD

    def owners_of(self, kind):
        """All that may stand before the name: tp_name, and what Python says."""
        module = type.__dict__["__module__"].__get__(kind)
        owners = {text(word(id(kind) + 3 * WORD)), type.__dict__["__qualname__"].__get__(kind)} if module == "builtins" \
            else {text(word(id(kind) + 3 * WORD)), f"{module}.{type.__dict__['__qualname__'].__get__(kind)}"}
        return owners

    def add_type(self, kind):
        owners = self.owners_of(kind)
        for base in type.__dict__["__mro__"].__get__(kind):
            for owner in owners:
                self.bases.setdefault(owner, set()).update(self.owners_of(base))
        for at, name in SLOTS.items():
            self.add(word(id(kind) + at * WORD), owners, name)
        number, sequence = (word(id(kind) + at * WORD) for at in (NUMBERS, SEQUENCES))
        if number:
            self.add(word(number + 5 * WORD), owners, "__pow__")
        buffer = word(id(kind) + BUFFER * WORD)
        if buffer:
            self.add(word(buffer), owners, "__buffer__")
            self.add(word(buffer + WORD), owners, "__release_buffer__")
        asynchronous = word(id(kind) + ASYNC * WORD)
        if asynchronous:
            self.add(word(asynchronous + 3 * WORD), owners, "am_send")
        self.add_table(word(id(kind) + METHODS * WORD), 4, [WORD], owners)
        self.add_table(word(id(kind) + GETSETS * WORD), 5, [WORD, 2 * WORD], owners)
        for value in type.__dict__["__dict__"].__get__(kind).values():
            self.add_object(value, owners)

    def add_object(self, o, owners):
        kind = type(o)
        if kind is METHOD or kind is CLASS_METHOD:
            at = word(id(o) + 5 * WORD)
            self.add(word(at + WORD), owners, text(word(at)))
        elif kind is GETSET:
            at = word(id(o) + 5 * WORD)
            self.add(word(at + WORD), owners, text(word(at)))
            self.add(word(at + 2 * WORD), owners, text(word(at)))
        elif kind is WRAPPER:
            base = word(id(o) + 5 * WORD)
            self.add(word(id(o) + 6 * WORD), owners, text(word(base)))
        elif kind is FUNCTION:
            at = word(id(o) + 2 * WORD)
            self.add(word(at + WORD), owners, text(word(at)))

    def add_module(self, module):
        """Its definition may call it otherwise than sys.modules."""
        definition = ctypes.pythonapi.PyModule_GetDef
        definition.restype, definition.argtypes = ctypes.c_void_p, [ctypes.py_object]
        at = definition(module)
        names = {module.__name__} | ({text(word(at + 5 * WORD))} if at else set())
        for value in list(module.__dict__.values()):
            if type(value) is FUNCTION and value.__self__ is module:
                self.add_object(value, names)

    def add_function(self, o):
        """A function of a module, or a method that is bound to an object or a type."""
        owner = o.__self__
        if isinstance(owner, types.ModuleType):
            names = {owner.__name__, o.__module__ or owner.__name__}
        elif isinstance(owner, type):
            names = self.owners_of(owner)
        elif owner is None:
            names = {o.__module__} if isinstance(o.__module__, str) else {""}
        else:
            names = self.owners_of(type(owner))
        self.add_object(o, names)


def mapped():
    """[(start, end, offset, path)] of files."""
    out = []
    with open("/proc/self/maps") as f:
        for line in f:
            words = line.split(None, 5)
            if len(words) == 6 and words[5].startswith("/"):
                start, _, end = words[0].partition("-")
                out.append((int(start, 16), int(end, 16), int(words[2], 16), words[5].strip()))
    return out


def main(out, *modules):
    load(modules)
    names = Names()
    for kind in all_types():
        names.add_type(kind)
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType):
            names.add_module(module)
        for value in list(getattr(module, "__dict__", {}).values()):
            if type(value) is FUNCTION:
                names.add_function(value)
    for o in gc.get_objects():
        if type(o) is FUNCTION:
            names.add_function(o)
    maps, files = mapped(), {}
    for address, known in names.names.items():
        for start, end, offset, path in maps:
            if start <= address < end:
                files.setdefault(path, {})[address - start + offset] = sorted(known)
    with open(out, "w") as f:
        json.dump({"files": files, "bases": {k: sorted(v) for k, v in names.bases.items()}}, f)


if __name__ == "__main__":
    main(*sys.argv[1:])
