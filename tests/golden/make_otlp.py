# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""otlp/*.otlp, OTLP profiles (v1development) of several producers' habits, and what is in them."""
import gzip
import struct
from pathlib import Path

from expect import NOMINAL_US, place, write
from make_pprof import message, number, varint

HERE = Path(__file__).parent / "otlp"
MAPPING, LOCATION, FUNCTION, LINK, STRING, ATTRIBUTE, STACK = range(1, 8)
CPU, SAMPLES, OFF_CPU = ("cpu", "nanoseconds"), ("samples", "count"), ("off_cpu", "nanoseconds")
START, SECOND = 1_790_000_000 * 10**9, 10**9


def numbers(field, values):
    return message(field, *[varint(v) for v in values]) if values else b""


def value(v):
    """An AnyValue."""
    if isinstance(v, bool):
        return message(2, varint(2 << 3) + varint(int(v)))
    if isinstance(v, int):
        return message(2, varint(3 << 3) + varint(v))
    if isinstance(v, float):
        return message(2, varint(4 << 3 | 1) + struct.pack("<d", v))
    if isinstance(v, bytes):
        return message(2, message(7, v))
    return message(2, message(1, v.encode()))


def resource(*profiles, schema="", **attributes):
    """A ResourceProfiles; _ in a key stands for a dot."""
    pairs = [message(1, message(1, key.replace("_", ".").encode()), value(v)) for key, v in attributes.items()]
    return message(1, message(1, *pairs), message(2, message(1, message(1, b"made")), *profiles),
                   message(3, schema.encode()) if schema else b"")


class Request:
    """A request's dictionary; entries are made as they are needed."""

    def __init__(self):
        self.tables = {table: [b""] for table in range(1, 8)}

    def entry(self, table, *content):
        content, entries = b"".join(content), self.tables[table]
        if content not in entries:
            entries.append(content)
        return entries.index(content)

    def text(self, s):
        return self.entry(STRING, s.encode())

    def pair(self, field, of):
        return message(field, number(1, self.text(of[0])) + number(2, self.text(of[1])))

    def attribute(self, key, v):
        return self.entry(ATTRIBUTE, number(1, self.text(key)), value(v))

    def mapping(self, file, *attributes):
        return self.entry(MAPPING, number(4, self.text(file)), numbers(5, [self.attribute(*a) for a in attributes]))

    def function(self, name, file="", system="", first=0):
        return self.entry(FUNCTION, number(1, self.text(name)), number(2, self.text(system)),
                          number(3, self.text(file)), number(4, first))

    def location(self, *lines, mapping=0, address=0):
        return self.entry(LOCATION, number(1, mapping), number(2, address),
                          *[message(3, number(1, f), number(2, line), number(3, 7)) for f, line in lines])

    def stack(self, *locations):
        return self.entry(STACK, numbers(1, locations))

    def sample(self, stack, values=(), times=(), **attributes):
        """_ in a key stands for a dot."""
        indices = [self.attribute(k.replace("_", "."), v) for k, v in attributes.items()]
        return message(2, number(1, stack), numbers(2, indices), numbers(4, values),
                       message(5, *[struct.pack("<Q", t) for t in times]) if times else b"")

    def profile(self, kind, *samples, period=None, time=START, duration=SECOND, attributes=()):
        head = self.pair(1, kind)
        tail = self.pair(5, period[:2]) + number(6, period[2]) if period else b""
        return message(2, head, *samples, varint(3 << 3 | 1) + struct.pack("<Q", time), number(4, duration), tail,
                       numbers(11, [self.attribute(*a) for a in attributes]))

    def encoded(self, *resources, first=False):
        dictionary = message(2, *[message(table, entry) for table, entries in self.tables.items() for entry in entries])
        return b"".join([dictionary, *resources] if first else [*resources, dictionary])


def stream(*messages):
    return b"".join(struct.pack(">I", len(m)) + m for m in messages)


def put(name, content, profiles):
    (HERE / f"{name}.otlp").write_bytes(content)
    write(HERE / f"{name}.txt", profiles)


def ours():
    """As the agent has it: counts of a period, two services, the two names of a function, a library."""
    r = Request()
    libc = r.mapping("/usr/lib/libc.so.6", ("process.executable.build_id.gnu", "0a0b0c"))
    file = "/srv/shop/cart/views.py"
    f, top = r.function("cart.views.f", file, "f", 3), r.function("cart.views.<module>", file, "<module>", 1)
    leaf, base = r.location((f, 7)), r.location((top, 9))
    gc, memcpy = r.location((r.function("<GC>"), 0)), r.location((r.function("memcpy"), 0), mapping=libc)
    period = (*CPU, 10**7)
    cart = r.profile(SAMPLES, r.sample(r.stack(leaf, base), [3]), r.sample(r.stack(memcpy, leaf, base), [1]),
                     period=period)
    waits = r.profile(OFF_CPU, r.sample(r.stack(base), [5 * 10**8]))
    other = r.profile(SAMPLES, r.sample(r.stack(gc, base), [2]), period=period)
    content = r.encoded(resource(cart, waits, service_name="cart", service_version="1.2"),
                        resource(other, service_name="pay"))
    top, leaf = place("<module>", file, 9), place("f", file, 7)
    put("ours", content, [
        ("nanoseconds", 0, None, [(0, 0, 3 * 10**7, [leaf, top]),
                                  (0, 30000, 10**7, [place("memcpy", "[libc.so.6]"), leaf, top])]),
        ("nanoseconds", 0, None, [(0, 0, 2 * 10**7, [place("<GC>"), top])])])
    (HERE / "ours.otlp.gz").write_bytes(gzip.compress(content, mtime=0))


def habits():
    """Of others: the dictionary first, times without values, processes and threads as attributes of samples,
    inlined functions, addresses, counts of a period next to the same time."""
    r = Request()
    lib, prog = r.mapping("/lib/libfoo.so"), r.mapping("/usr/bin/prog")
    inner, outer = r.function("inner", "/src/a.c"), r.function("", "/src/a.c", "_ZN3fooEv")
    inlined = r.location((inner, 5), (outer, 12), mapping=prog)
    address = r.location(mapping=lib, address=0xABC)
    twice = r.profile(SAMPLES, r.sample(r.stack(inlined), [3]), period=(*CPU, 50_000_000))
    time = r.profile(("cpu", "ms"), r.sample(r.stack(inlined), [100, 50], process_pid=12, thread_id=13,
                                             process_executable_name="app", thread_name="worker"),
                     r.sample(r.stack(address, 0, inlined), [10]), r.sample(0, [1], process_pid="14"),
                     attributes=[("process.pid", 15)])
    content = r.encoded(resource(twice, time, container_id="c0ffee", host_name=b"h1"), first=True)
    frames = [place("inner", "[prog] /src/a.c", 5), place("_ZN3fooEv", "[prog] /src/a.c", 12)]
    put("habits", content, [
        ("nanoseconds", 12, "app", [(13, 0, 150 * 10**6, frames)]),
        ("nanoseconds", 15, None, [(0, 0, 10**7, [place("0xabc", "[libfoo.so]"), *frames])]),
        ("nanoseconds", 14, None, [(0, 0, 10**6, [])])])


def times():
    """A sample has a value for each of its times, one for all, or none: then each counts as one."""
    r = Request()
    f = r.location((r.function("f", "a.py"), 1))
    p = r.profile(("events", "count"), r.sample(r.stack(f), times=[START, START + 1, START + 2]),
                  r.sample(r.stack(f), [4, 5], times=[START, START + 1]), r.sample(r.stack(f), [0]),
                  r.sample(r.stack(f)), r.sample(r.stack(f), [7]))
    frame = [place("f", "a.py", 1)]
    put("times", r.encoded(resource(p, service_version=2, service_name=True, team=1.5)),
        [("samples", 0, None, [(0, 0, 3, frame), (0, 3 * NOMINAL_US, 9, frame), (0, 12 * NOMINAL_US, 7, frame)])])


def a_stream():
    """Of the Collector's file exporter: tables of their own in each message, one message without any content."""
    messages = []
    for window, (name, weight) in enumerate([("f", 2), ("g", 3), ("f", 4)]):
        r = Request()
        if window:
            r.function("not used")
        at = r.location((r.function(name, "a.py"), 1 + window))
        messages.append(r.encoded(resource(
            r.profile(SAMPLES, r.sample(r.stack(at), [weight]), period=(*CPU, 10**7), time=START + window * SECOND),
            service_name="shop")))
    put("stream", stream(messages[0], messages[1], b"", messages[2]), [("nanoseconds", 0, None, [
        (0, 0, 2 * 10**7, [place("f", "a.py", 1)]), (0, 20000, 3 * 10**7, [place("g", "a.py", 2)]),
        (0, 50000, 4 * 10**7, [place("f", "a.py", 3)])])])


def memory():
    """Bytes, and a stack deeper than ours can be."""
    r = Request()
    f = r.function("grow", "a.py")
    at = r.location(*[(f, i + 1) for i in range(200)])
    period = ("memory", "bytes", 1)
    content = r.encoded(resource(
        r.profile(("alloc_space", "bytes"), r.sample(r.stack(at, at), [4096]), period=period),
        r.profile(("inuse_space", "bytes"), r.sample(r.stack(at), [1024]), period=period)))
    frames = [place("grow", "a.py", i + 1) for i in range(200)] * 2
    put("memory", content, [("bytes", 0, None, [(0, 0, 4096, frames)])])


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    ours()
    habits()
    times()
    a_stream()
    memory()
