# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pprof/*.pb, plain profile.proto of several producers' habits, and what is in them."""
from pathlib import Path

from expect import NOMINAL_US, place, write

HERE = Path(__file__).parent / "pprof"


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def message(field, *parts):
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


class Profile:
    """As much of profile.proto as there is a use for."""

    def __init__(self, *types, period=("cpu", "nanoseconds", 10**7), packed=True, step=1, default=""):
        self.strings, self.packed, self.step = [""], packed, step
        self.fields, self.cnt = [], {"mapping": 0, "function": 0, "location": 0}
        self.types = [message(1, self.pair(type_, unit)) for type_, unit in types]
        self.fields.append(message(11, self.pair(*period[:2])))
        self.fields.append(number(12, period[2]) + number(14, self.text(default)))

    def pair(self, type_, unit):
        return number(1, self.text(type_)) + number(2, self.text(unit))

    def text(self, s):
        if s not in self.strings:
            self.strings.append(s)
        return self.strings.index(s)

    def next_id(self, what):
        self.cnt[what] += 1
        return self.cnt[what] * self.step

    def mapping(self, file, build_id=""):
        self.fields.append(message(3, number(1, self.next_id("mapping")), number(5, self.text(file)),
                                   number(6, self.text(build_id))))
        return self.cnt["mapping"] * self.step

    def function(self, name, file="", system="", first=0):
        self.fields.append(message(5, number(1, self.next_id("function")), number(2, self.text(name)),
                                   number(3, self.text(system)), number(4, self.text(file)), number(5, first)))
        return self.cnt["function"] * self.step

    def location(self, *lines, mapping=0, address=0):
        """lines: (function, line), the innermost inlined one first."""
        self.fields.append(message(4, number(1, self.next_id("location")),
                                   *[message(4, number(1, f), number(2, line)) for f, line in lines],
                                   number(2, mapping), number(3, address)))
        return self.cnt["location"] * self.step

    def numbers(self, field, values):
        if self.packed:
            return message(field, *[varint(v) for v in values])
        return b"".join(varint(field << 3) + varint(v) for v in values)

    def sample(self, locations, values, **labels):
        entries = []
        for key, value in labels.items():
            is_text = isinstance(value, str)
            entries.append(message(3, number(1, self.text(key)),
                                   number(2 if is_text else 3, self.text(value) if is_text else value)))
        self.fields.append(message(2, self.numbers(1, locations), self.numbers(2, values), *entries))

    def comment(self, text):
        self.fields.append(self.numbers(13, [self.text(text)]))

    def encoded(self, backwards=False):
        strings = [message(6, s.encode()) for s in self.strings]
        fields = self.fields[::-1] + self.types if backwards else self.types + self.fields
        return b"".join(fields + strings)

    def put(self, name, profiles, backwards=False):
        (HERE / f"{name}.pb").write_bytes(self.encoded(backwards))
        write(HERE / f"{name}.txt", profiles)


def ours():
    """Labels, the two names of a function, machine code of a library, several processes."""
    p = Profile(("samples", "count"), ("cpu", "nanoseconds"), default="cpu")
    p.mapping("app")
    libc = p.mapping("/usr/lib/libc.so.6", "0a0b0c")
    f = p.function("cart.views.f", "/srv/shop/cart/views.py", "f", 3)
    module = p.function("cart.views.<module>", "/srv/shop/cart/views.py", "<module>", 1)
    gc = p.function("<GC>")
    memcpy = p.function("memcpy", "[libc.so.6]")
    source = p.function("malloc", "malloc/malloc.c")
    at = [p.location((f, 7), mapping=1), p.location((module, 9), mapping=1), p.location((gc, 0), mapping=1),
          p.location((memcpy, 0), mapping=libc), p.location((source, 12), mapping=libc)]
    one = {"pid": 12, "comm": "app", "tid": 13, "thread": "worker"}
    p.sample([at[0], at[1]], [3, 30000000], **one, status="gil+on-cpu")
    p.sample([at[3], at[0], at[1]], [1, 10000000], **one)
    p.sample([at[2], at[1]], [2, 20000000], pid=12, comm="app", tid=12)
    p.sample([at[4], at[1]], [1, 10000000], pid=14, comm="app")
    p.sample([at[1]], [0, 0], pid=15, comm="nothing")
    p.comment("process 12 app")
    file = "/srv/shop/cart/views.py"
    top, leaf = place("<module>", file, 9), place("f", file, 7)
    p.put("ours", [
        ("nanoseconds", 12, "app", [(13, 0, 30000000, [leaf, top]),
                                    (13, 30000, 10000000, [place("memcpy", "[libc.so.6]"), leaf, top]),
                                    (12, 0, 20000000, [place("<GC>"), top])]),
        ("nanoseconds", 14, "app", [(0, 0, 10000000, [place("malloc", "[libc.so.6] malloc/malloc.c", 12), top])]),
    ])


def go():
    """Inlined functions, addresses without functions, the last type counts, ids with gaps, unpacked numbers."""
    p = Profile(("samples", "count"), ("cpu", "microseconds"), packed=False, step=3)
    binary, lib = p.mapping("/usr/bin/prog"), p.mapping("/lib/libfoo.so")
    mallocgc = p.function("runtime.mallocgc", "/go/src/runtime/malloc.go", "runtime.mallocgc", 100)
    copy = p.function("runtime.copy", "/go/src/runtime/copy.go")
    main = p.function("main.main", "/src/main.go")
    mangled = p.function("", "", "_ZN3fooEv")
    inlined = p.location((copy, 5), (mallocgc, 120), mapping=binary)
    root = p.location((main, 20), mapping=binary, address=0x1000)
    address = p.location(mapping=lib, address=0xABC)
    nowhere = p.location(address=0x10)
    named = p.location((mangled, 0), mapping=binary)
    p.sample([inlined, root], [1, 10])
    p.sample([address, root], [1, 20])
    p.sample([nowhere, named], [1, 30])
    base = place("main.main", "/src/main.go", 20)
    p.put("go", [("nanoseconds", 0, None, [
        (0, 0, 10000, [place("runtime.copy", "/go/src/runtime/copy.go", 5),
                       place("runtime.mallocgc", "/go/src/runtime/malloc.go", 120), base]),
        (0, 10, 20000, [place("0xabc", "[libfoo.so]"), base]),
        (0, 30, 30000, [place("0x10"), place("_ZN3fooEv")]),
    ])])


def heap():
    """Four types: the default counts; fields in the other order."""
    p = Profile(("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
                ("inuse_space", "kb"), period=("space", "bytes", 524288), default="inuse_space")
    leaf = p.location((p.function("main.alloc", "/src/main.go"), 4))
    p.sample([leaf], [5, 5120, 1, 1])
    p.put("heap", [("bytes", 0, None, [(0, 0, 1024, [place("main.alloc", "/src/main.go", 4)])])], backwards=True)


def counts():
    """A type that is no time, no string for some numbers, a stack deeper than ours can be."""
    p = Profile(("contentions", "count"), period=("contentions", "count", 1))
    f = p.function("lock", "/src/lock.go")
    at = p.location(*[(f, i + 1) for i in range(200)])
    p.sample([at, at], [4])
    p.sample([], [2])
    frames = [place("lock", "/src/lock.go", i + 1) for i in range(200)] * 2
    p.put("counts", [("samples", 0, None, [(0, 0, 4, frames), (0, 4 * NOMINAL_US, 2, [])])])


def services():
    """A comment names the service; a label another one; a thread without a number."""
    p = Profile(("off_cpu", "nanoseconds"))
    p.comment("service.name=checkout")
    p.comment("service.version=1.2")
    f = p.location((p.function("f", "a.py"), 1))
    p.sample([f], [1000])
    p.sample([f], [2000], service_name="cart")
    frame = [place("f", "a.py", 1)]
    p.put("services", [("nanoseconds", 0, None, [(0, 0, 1000, frame)]),
                       ("nanoseconds", 0, None, [(0, 0, 2000, frame)])])


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    ours()
    go()
    heap()
    counts()
    services()
