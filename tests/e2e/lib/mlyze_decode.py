# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads .mlyze files as the format's own text says: all of the header, then the metadata, then events."""
import collections
import json
import struct
from pathlib import Path

ALLOC, FREE, GC, MARKER = range(4)
HEADER = 256

Alloc = collections.namedtuple("Alloc", "time_us addr size stack thread")
Free = collections.namedtuple("Free", "time_us addr")
Collection = collections.namedtuple("Collection", "time_us objects bytes")
Marker = collections.namedtuple("Marker", "time_us name")


class Trace:
    def __init__(self, path):
        data = Path(path).read_bytes()
        magic, version, self.start_us, length = struct.unpack_from("<4sIQI", data)
        assert magic == b"MTRC" and version == 1, (magic, version)
        self.metadata = json.loads(data[HEADER:HEADER + length])
        self.data, self.at = data, HEADER + length
        self.events = list(self.read())

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            if not byte & 0x80:
                return value
            shift += 7

    def fixed(self, form):
        value, = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def read(self):
        now = self.start_us
        while self.at < len(self.data):
            kind = self.data[self.at]
            self.at += 1
            now += self.varint()
            if kind == ALLOC:
                yield Alloc(now, self.fixed("<Q"), self.varint(), self.varint(), self.fixed("<H"))
            elif kind == FREE:
                yield Free(now, self.fixed("<Q"))
            elif kind == GC:
                yield Collection(now, self.varint(), self.varint())
            else:
                assert kind == MARKER, kind
                yield Marker(now, self.metadata["functions"][str(self.varint())])

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def marks(self, word):
        """Our markers of a word: {key: value}, with % as it is written."""
        found = []
        for marker in self.of(Marker):
            ours, is_word, pairs = marker.name.partition(f"tachbpf {word}")
            if not ours and is_word:
                found.append(dict(pair.split("=", 1) for pair in pairs.split()))
        return found

    def held(self):
        """Bytes by stack that are not freed at the end."""
        live, sums = {}, collections.Counter()
        for event in self.events:
            if isinstance(event, Alloc):
                live[event.addr] = event
            elif isinstance(event, Free):
                live.pop(event.addr, None)
        for event in live.values():
            sums[event.stack] += event.size
        return sums

    def innermost(self, stack):
        """The name of a stack's innermost function: stacks are outermost first."""
        return self.metadata["functions"][str(self.metadata["stack_traces"][str(stack)][-1]["func_id"])]
