# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A decoder of profile.proto for the tests, from the format's public description alone."""
import gzip
import os
import re
import struct


def fields(data):
    """(number, value) of every field; length-delimited ones as bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if not byte & 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            assert at + size <= len(data), "a field ends behind its message"
            yield key >> 3, data[at:at + size]
            at += size
        elif key & 7 == 1:
            yield key >> 3, struct.unpack_from("<Q", data, at)[0]
            at += 8
        else:
            raise ValueError(f"wire type {key & 7}")


def packed(data):
    out, at = [], 0
    while at < len(data):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if not byte & 0x80:
                break
        out.append(value)
    return out


def message(data):
    out = {}
    for number, value in fields(data):
        out.setdefault(number, []).append(value)
    return out


def one(msg, number, default=0):
    return msg.get(number, [default])[-1]


def module_of(path):
    """The module of a file as pprof's names have it (docs/format-pprof.md)."""
    frozen = re.fullmatch("<frozen (.*)>", path)
    if frozen or path.startswith("<"):
        return frozen[1] if frozen else path
    path = path.removesuffix("/__init__.py").removesuffix(".py")
    root = re.search(r"(?:^|.*/)(?:site-packages|dist-packages|lib(?:64)?/python3\.\d+t?|[^/]+\.(?:zip|egg|whl|pyz))/", path)
    if root:
        return path[root.end():].replace("/", ".")
    directory = os.path.basename(os.path.dirname(path))
    return (directory + "." if directory else "") + os.path.basename(path)


class Pprof:
    """A profile: the path of a gzipped file, or its bytes as they are."""

    def __init__(self, of):
        m = message(of if isinstance(of, bytes) else gzip.open(of).read())
        self.strings = [s.decode() for s in m[6]]
        assert self.strings[0] == ""
        self.types = [self.value_type(t) for t in m[1]]
        self.period_type = self.value_type(m[11][0]) if 11 in m else ("", "")
        self.period = one(m, 12)
        self.time_ns, self.duration_ns = one(m, 9), one(m, 10)
        self.default_type = self.strings[one(m, 14)]
        self.comments = [self.strings[i] for c in m.get(13, []) for i in packed(c)]
        self.mappings = {one(x, 1): self.strings[one(x, 5)] for x in map(message, m[3])}
        self.build_ids = {one(x, 1): self.strings[one(x, 6)] for x in map(message, m[3])}
        self.functions = {one(x, 1): (self.strings[one(x, 2)], self.strings[one(x, 3)],
                                      self.strings[one(x, 4)])
                          for x in map(message, m.get(5, []))}
        self.first_lines = {one(x, 1): one(x, 5) for x in map(message, m.get(5, []))}
        self.locations = {}
        for x in map(message, m.get(4, [])):
            line, = map(message, x[4])
            assert one(x, 2) in self.mappings and 0 not in (one(x, 1), one(line, 1))
            self.locations[one(x, 1)] = (*self.functions[one(line, 1)], one(line, 2))
        self.samples = [self.sample(message(s)) for s in m.get(2, [])]

    def value_type(self, data):
        m = message(data)
        return self.strings[one(m, 1)], self.strings[one(m, 2)]

    def sample(self, m):
        """(stack of (name, system name, file, line) leaf first, values, labels)"""
        labels = {}
        for label in map(message, m.get(3, [])):
            key = self.strings[one(label, 1)]
            labels[key] = self.strings[one(label, 2)] if 2 in label else one(label, 3)
        return ([self.locations[i] for i in packed(b"".join(m.get(1, [])))],
                packed(b"".join(m[2])), labels)
