# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What CPython itself says of its C functions: for each file, their offsets in it and all names by
which this process can call them. Reads the objects of methods, attributes and types where they are.

Usage: methods.py OUT [DIRECTORY MODULE...]: these modules of it, and all of the standard library's extensions.
Layouts: PyCFunctionObject, PyDescrObject, PyMethodDef, PyGetSetDef, PyTypeObject of 3.6 to 3.15.
"""
import ctypes
import gc
import importlib
import json
import os
import sys
import types

WORD = 8
HEAD = object.__basicsize__     # of PyObject
# Words of PyTypeObject from tp_name on, whose functions no descriptor has.
TP_NAME = HEAD + WORD
SLOTS = {3: "tp_dealloc", 5: "__getattr__", 6: "__setattr__", 13: "__call__", 20: "tp_traverse", 21: "tp_clear",
         22: "tp_richcompare", 24: "__iter__", 25: "__next__", 34: "__init__", 35: "tp_alloc", 36: "__new__",
         37: "tp_free", 38: "tp_is_gc", 46: "__del__"}
if sys.version_info >= (3, 8):
    SLOTS[47] = "__new__"       # tp_vectorcall: of a call of the type
ASYNC, NUMBERS, BUFFER, METHODS, GETSETS = 7, 9, 17, 26, 28
TABLE, SLOT = "table", "slot"
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
        self.names = {}         # address -> {(owner, name, where it was found)}
        self.bases = {}         # owner -> itself and its bases

    def add(self, address, owners, name, where):
        if address:
            self.names.setdefault(address, set()).update((o, name, where) for o in owners)

    def add_table(self, at, words, offsets, owners):
        while at and word(at):
            for offset in offsets:
                self.add(word(at + offset), owners, text(word(at)), TABLE)
            at += words * WORD

    def owners_of(self, kind):
        """All that may stand before the name: tp_name, and what Python says."""
        module = type.__dict__["__module__"].__get__(kind)
        name = type.__dict__["__qualname__"].__get__(kind)
        return {text(word(id(kind) + TP_NAME)), name if module == "builtins" else f"{module}.{name}"}

    def add_type(self, kind):
        bases = type.__dict__["__mro__"].__get__(kind)
        if not bases:           # PyType_Ready() was not called
            return
        owners = self.owners_of(kind)
        for base in bases:
            for owner in owners:
                self.bases.setdefault(owner, set()).update(self.owners_of(base))
        slots = [(at, 0, name) for at, name in SLOTS.items()]
        slots += [(NUMBERS, 5, "__pow__"), (BUFFER, 0, "__buffer__"), (BUFFER, 1, "__release_buffer__")]
        slots += [(ASYNC, 3, "am_send")] * (sys.version_info >= (3, 10))
        for at, number, name in slots:
            value = word(id(kind) + TP_NAME + at * WORD)
            if at in (ASYNC, NUMBERS, BUFFER):
                value = value and word(value + number * WORD)
            self.add(value, owners, name, SLOT)
        self.add_table(word(id(kind) + TP_NAME + METHODS * WORD), 4, [WORD], owners)
        self.add_table(word(id(kind) + TP_NAME + GETSETS * WORD), 5, [WORD, 2 * WORD], owners)
        for value in type.__dict__["__dict__"].__get__(kind).values():
            self.add_object(value, owners)

    def add_object(self, o, owners):
        """PyCFunctionObject has its PyMethodDef behind the head, PyDescrObject three words later."""
        kind = type(o)
        at = word(id(o) + HEAD + (0 if kind is FUNCTION else 3 * WORD)) if kind in FIXED else 0
        if kind is WRAPPER:
            self.add(word(id(o) + HEAD + 4 * WORD), owners, text(word(at)), SLOT)
        elif at:
            self.add(word(at + WORD), owners, text(word(at)), TABLE)
        if kind is GETSET:
            self.add(word(at + 2 * WORD), owners, text(word(at)), TABLE)

    def add_module(self, module):
        """Its definition may call it otherwise than sys.modules."""
        definition = ctypes.pythonapi.PyModule_GetDef
        definition.restype, definition.argtypes = ctypes.c_void_p, [ctypes.py_object]
        at = definition(module)
        names = {module.__name__} | ({text(word(at + HEAD + 3 * WORD))} if at else set())
        for value in list(module.__dict__.values()):
            if type(value) is FUNCTION and value.__self__ is module:
                self.add_object(value, names)

    def add_function(self, o):
        """A function of a module, or a method that is bound to an object or a type."""
        owner = o.__self__
        if isinstance(owner, types.ModuleType):
            names = {owner.__name__, o.__module__ or owner.__name__}
        elif owner is None:
            names = {o.__module__ if isinstance(o.__module__, str) else ""}
        else:
            names = self.owners_of(owner if isinstance(owner, type) else type(owner))
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


def main(out, directory=None, *modules):
    if directory:
        sys.path.insert(0, directory)
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
