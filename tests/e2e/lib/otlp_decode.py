# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Decoders of OTLP profiles: one from the format's description alone, which is strict about what we
write, and one by the published package opentelemetry-proto, where it can be imported.

Both give .resources: (attributes, profiles) of each, and a profile's samples as (stack, value, link),
a stack as (function, file, line, kind of frame) of each frame, innermost first; a link as (trace id,
span id, and a pair for each of the sample's attributes), the ids None if there are only attributes.
"""
import struct
from collections import Counter

from otlp_check import problems
from pprof_decode import message, module_of, one, packed

try:
    from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
        ExportProfilesServiceRequest)
except ImportError:
    ExportProfilesServiceRequest = None


COUNT, CPU, OFF_CPU = ("samples", "count"), ("cpu", "nanoseconds"), ("off_cpu", "nanoseconds")
# The period's type where it is not the values' own; Pyroscope names a profile after it.
MEMORY = ("memory", "bytes")
HEAP_OBJECTS, HEAP_SPACE = ("heap_objects", "count"), ("heap_space", "bytes")
PERIODS = {COUNT: CPU, ("alloc_space", "bytes"): MEMORY, ("inuse_space", "bytes"): MEMORY,
           HEAP_OBJECTS: ("heap", "count"), HEAP_SPACE: ("heap", "bytes")}


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Request:
    """An encoded request, all of it, which must be as OTLP's specification asks (otlp_check)."""

    def __init__(self, data):
        top = message(data)
        assert set(top) <= {1, 2} and len(top[2]) == 1
        tables = message(top[2][0])
        assert set(tables) == set(range(1, 8))
        found = problems(data)
        assert not found, found
        self.addresses = {}     # function -> address in what it is in
        self.qualified = {}     # (function's own name, file) -> its name
        self.mappings = {}      # function -> (file, attributes) of what it is in
        self.strings = [s.decode() for s in tables[5]]
        self.tables = {n: [message(e) for e in entries] for n, entries in tables.items() if n != 5}
        self.resources = [self.resource(message(r)) for r in top[1]]

    def entry(self, table, index):
        return self.tables[table][index]

    def string(self, index):
        return self.strings[index]

    def attribute(self, index):
        m = self.entry(6, index)
        return self.string(one(m, 1)), one(message(one(m, 2)), 1).decode()

    def value_type(self, data):
        m = message(data)
        return self.string(one(m, 1)), self.string(one(m, 2))

    def resource(self, m):
        attributes = {}
        for pair in map(message, message(m[1][0]).get(1, [])):
            value = message(pair[2][0])
            key = pair[1][0].decode()
            attributes[key] = (value[1][0].decode() if 1 in value else signed(value[3][0]) if 3 in value else
                               [one(message(item), 1).decode() for item in message(value[5][0])[1]])
        scope, = map(message, m[2])
        assert message(scope[1][0])[1] == [b"tachbpf"]
        return attributes, [self.profile(message(p)) for p in scope[2]]

    def profile(self, m):
        kind, period_type = self.value_type(m[1][0]), ("", "")
        assert set(m) <= {1, 2, 3, 4, 5, 6, 7} and {1, 2, 3, 7} <= set(m), set(m)
        assert len(m[7][0]) == 16
        if kind != OFF_CPU:         # Pyroscope: "off_cpu:nanoseconds::"
            period_type = self.value_type(m[5][0])
            assert period_type == PERIODS.get(kind, kind), period_type
        return {"type": kind, "time": m[3][0], "duration": one(m, 4),
                "period_type": period_type, "period": one(m, 6), "id": m[7][0],
                "samples": [self.sample(message(s)) for s in m[2]]}

    def sample(self, m):
        assert set(m) <= {1, 2, 3, 4}
        link = self.entry(4, one(m, 3)) if 3 in m else None
        value, = packed(m[4][0])
        attributes = [self.attribute(i) for i in packed(m[2][0])] if 2 in m else []
        ids = (link[1][0], link[2][0]) if link else (None, None) if attributes else ()
        return self.stack(one(m, 1)), value, (*ids, *attributes) or None

    def stack(self, index):
        return tuple(self.location(i) for i in packed(self.entry(7, index)[1][0]))

    def location(self, index):
        m = self.entry(2, index)
        line = message(m[3][0])
        function = self.entry(3, one(line, 1))
        if 1 in m:
            mapping = self.entry(1, one(m, 1))
            of = [self.attribute(i) for a in mapping.get(5, []) for i in packed(a)]
            self.mappings[self.string(one(function, 1))] = (self.string(one(mapping, 4)), dict(of))
            self.addresses[self.string(one(function, 1))] = one(m, 2)
        kind = [self.attribute(i) for a in m.get(4, []) for i in packed(a)]
        assert all(key == "profile.frame.type" for key, _ in kind)
        name, own, file = (self.string(one(function, n)) for n in (1, 2, 3))
        if own:                     # as in pprof: the name is qualified, and this is its own
            assert name == f"{module_of(file)}.{own}" or "\\x" in name, (name, own, file)
            self.qualified[own, file] = name
        return own or name, file, one(line, 2), kind[0][1] if kind else None


class Published:
    """The same by the published package, whose parser also checks that text is UTF-8."""

    def __init__(self, data, ours=True):
        self.m = ExportProfilesServiceRequest.FromString(data)
        before = self.m.ByteSize()
        self.m.DiscardUnknownFields()
        assert self.m.ByteSize() == before, "a field that is not OTLP's"
        assert not ours or before == len(data), "a default value that need not be written"
        self.d = self.m.dictionary
        self.resources = [self.resource(r) for r in self.m.resource_profiles]

    def resource(self, r):
        attributes = {a.key or self.d.string_table[a.key_strindex]: self.value(a.value) for a in r.resource.attributes}
        scope, = r.scope_profiles
        return attributes, [{
            "type": self.value_type(p.sample_type), "time": p.time_unix_nano,
            "duration": p.duration_nano, "period": p.period,
            "period_type": self.value_type(p.period_type), "id": p.profile_id,
            "samples": [self.sample(s) for s in p.samples]} for p in scope.profiles]

    def value(self, v):
        """Texts may be in the table, as newer Collectors have them."""
        kind = v.WhichOneof("value")
        if kind == "array_value":
            return [self.value(item) for item in v.array_value.values]
        return self.d.string_table[v.string_value_strindex] if kind == "string_value_strindex" else getattr(v, kind)

    def value_type(self, t):
        return self.d.string_table[t.type_strindex], self.d.string_table[t.unit_strindex]

    def sample(self, s):
        link = self.d.link_table[s.link_index]
        ids = (link.trace_id, link.span_id) if s.link_index else (None, None) if s.attribute_indices else ()
        value, = s.values
        return (tuple(self.location(self.d.location_table[i])
                      for i in self.d.stack_table[s.stack_index].location_indices),
                value, (*ids, *map(self.attribute, s.attribute_indices)) or None)

    def attribute(self, index):
        a = self.d.attribute_table[index]
        return self.d.string_table[a.key_strindex], self.value(a.value)

    def location(self, location):
        line, = location.lines
        f = self.d.function_table[line.function_index]
        kinds = [self.attribute(i)[1] for i in location.attribute_indices]
        name, file = f.system_name_strindex or f.name_strindex, f.filename_strindex
        return (self.d.string_table[name], self.d.string_table[file], line.line,
                kinds[0] if kinds else None)


def stacks_of(requests):
    """(service, sample type, stack, link) -> the sum of its values in all requests."""
    sums = Counter()
    for request in requests:
        for attributes, profiles in request.resources:
            for profile in profiles:
                for stack, value, link in profile["samples"]:
                    sums[attributes["service.name"], profile["type"], stack, link] += value
    return sums


def totals_of(requests):
    """(service, sample type) -> the sum of its values."""
    sums = Counter()
    for (service, kind, _, _), value in stacks_of(requests).items():
        sums[service, kind] += value
    return sums


def otlp_stream(requests):
    """As the Collector's file exporter writes them with `format: proto`."""
    return b"".join(struct.pack(">I", len(r)) + r for r in requests)
