# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""hold.c's functions, compiled to hold.so beside this: hold.with_gil, hold.without_gil.

hold is None in builds without ctypes.
"""
import os

try:
    import ctypes
except ImportError:
    ctypes = None


class Hold:
    """Each function in both ways."""

    def __init__(self, path):
        self.with_gil, self.without_gil = ctypes.PyDLL(path), ctypes.CDLL(path)
        for dll in (self.with_gil, self.without_gil):
            for function in (dll.now, dll.compute, dll.nap):
                function.restype = ctypes.c_longlong
            for function in (dll.compute, dll.nap):
                function.argtypes = (ctypes.c_longlong,)


def load():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hold.so")
    return Hold(path) if ctypes and os.path.exists(path) else None


hold = load()
