# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""mlyze/*.mlyze and what is in them: events by --value, and sums. Written from the format's text."""
import json
import random
import struct
from pathlib import Path

from expect import place, write

HERE = Path(__file__).parent / "mlyze"
ALLOC, FREE, GC, MARKER = range(4)


def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))


def encode(start, events, metadata, version=1):
    """events: (time, type, fields...)"""
    body, now = bytearray(), start
    for time, kind, *fields in events:
        body += bytes([kind]) + varint(time - now)
        now = time
        if kind == ALLOC:
            addr, size, stack, thread = fields
            body += struct.pack("<Q", addr) + varint(size) + varint(stack) + struct.pack("<H", thread)
        elif kind == FREE:
            body += struct.pack("<Q", fields[0])
        else:
            body += b"".join(map(varint, fields))
    head = struct.pack("<4sIQI", b"MTRC", version, start, len(metadata)).ljust(256, b"\0")
    return head + metadata + bytes(body)


def sums(events):
    """Sums by stack and of all, and the indices of what is live at the end and at the peak."""
    live, total, peak, peak_live = {}, 0, 0, {}
    freed = unmatched = lost = 0
    for i, (_, kind, *fields) in enumerate(events):
        if kind == ALLOC:
            old = live.pop(fields[0], None)
            if old is not None:
                lost += 1
                freed += events[old][3]
                total -= events[old][3]
            live[fields[0]] = i
            total += fields[1]
            if total > peak:
                peak, peak_live = total, dict(live)
        elif kind == FREE:
            old = live.pop(fields[0], None)
            if old is None:
                unmatched += 1
            else:
                freed += events[old][3]
                total -= events[old][3]
    allocs = [i for i, e in enumerate(events) if e[1] == ALLOC]
    sets = {"allocated": allocs, "live": sorted(live.values()), "peak": sorted(peak_live.values())}
    size = {key: min(sum(events[i][3] for i in which), 2**64 - 1) for key, which in sets.items()}
    collections = [e for e in events if e[1] == GC]
    answer = {"events": len(events), "allocations": len(allocs), "allocated_bytes": size["allocated"],
              "live_allocations": len(sets["live"]), "live_bytes": size["live"],
              "peak_allocations": len(sets["peak"]), "peak_bytes": size["peak"],
              "frees": sum(e[1] == FREE for e in events), "freed_bytes": min(freed, 2**64 - 1),
              "frees_of_unknown_blocks": unmatched, "frees_not_recorded": lost,
              "collections": len(collections), "markers": sum(e[1] == MARKER for e in events),
              "collected_objects": min(sum(e[2] for e in collections), 2**64 - 1),
              "collected_bytes": min(sum(e[3] for e in collections), 2**64 - 1)}
    stacks = {}
    for key, which in sets.items():
        for i in which:
            of = stacks.setdefault(str(events[i][4]), {})
            of[key] = of.get(key, 0) + events[i][3]
    return answer, sets, stacks


def make(name, start, events, stacks, files, functions, order=("stack_traces", "files", "functions"),
         pid=0, comm=None, tids=None):
    sections = {
        "stack_traces": {str(k): [{"file_id": f, "line": line, "func_id": g} for f, line, g in frames]
                         for k, frames in stacks.items()},
        "files": {str(k): v for k, v in files.items()},
        "functions": {str(k): v for k, v in functions.items()}}
    metadata = json.dumps({key: sections.get(key, []) for key in order}).encode()
    (HERE / f"{name}.mlyze").write_bytes(encode(start, events, metadata))
    answer, sets, by_stack = sums(events)
    (HERE / f"{name}.sums.json").write_text(json.dumps({"total": answer, "stacks": by_stack}, indent=1) + "\n")
    for value, which in sets.items():
        rows = []
        for i in which:
            time, _, _, size, stack, thread = events[i]
            frames = [place(functions[g], files[f], line) for f, line, g in stacks[stack][::-1]]
            if size:
                rows.append(((tids or {}).get(thread, thread), time, size, frames))
        write(HERE / f"{name}.{value}.txt", [("bytes", pid, comm, rows)])


MIB = 1 << 20
UTC = 1_700_000_000 * 10**6     # the recording's start


class Marks:
    """MARKER events, whose names are functions of the metadata."""

    def __init__(self, functions):
        self.functions = functions

    def __call__(self, time, text):
        at = max(self.functions) + 1
        self.functions[at] = f"tachbpf {text}"
        return time, MARKER, at


def grown(seconds=60):
    """
    A recording as tachbpf makes it: leak() keeps 64 KiB more each second, cache() 1 MiB of its own, replaced
    each second, start() 8 MiB from the first second on, early() 4 MiB until half time. Thread 1 leaks.
    """
    files = {0: "/srv/app.py", 1: "/srv/lib.py"}
    functions = {0: "main", 1: "leak", 2: "cache", 3: "start", 4: "early"}
    stacks = {0: [(0, 5, 0), (1, 10, 1)], 1: [(0, 6, 0), (1, 20, 2)], 2: [(0, 2, 0), (0, 30, 3)],
              3: [(0, 3, 0), (1, 40, 4)]}
    mark = Marks(functions)
    events = [mark(UTC, "recording mode=sampled every=65536 min=0 interval_us=1000000 version=1"),
              mark(UTC, "process pid=4242 comm=my%20app python=3.11.2 container=web command=python3%20app.py"),
              mark(UTC, "thread n=0 tid=4242 name=main"), mark(UTC, "thread n=1 tid=4250 name=leaker-%C3%BC"),
              mark(UTC, "check rss_anon=1000000 swapped=0 held=0 unchecked=0"),
              (UTC + 1000, ALLOC, 0x10000000, 8 * MIB, 2, 0), (UTC + 2000, ALLOC, 0x20000000, 4 * MIB, 3, 0)]
    for i in range(1, seconds + 1):
        now = UTC + i * 10**6
        events += [(now - 500000, ALLOC, 0x30000000 + i * 65536, 65536, 0, 1)]
        if i > 1:
            events += [(now - 400000, FREE, 0x40000000 + (i - 1) * MIB)]
        events += [(now - 300000, ALLOC, 0x40000000 + i * MIB, MIB, 1, 0)]
        if i == seconds // 2:
            events += [(now - 200000, FREE, 0x20000000)]
        held = 9 * MIB + i * 65536 + (4 * MIB if i < seconds // 2 else 0)
        events += [mark(now, f"check rss_anon={1000000 + held + 100000} swapped=4096 held={held} unchecked=8192")]
        if i % 20 == 0:
            events += [mark(now, "gc generation=2 runs=1 uncollectable=3 duration_us=1500"), (now, GC, 100, 0)]
    end = UTC + seconds * 10**6 + 5
    events += [mark(end, "lost cause=allocs_ring_full cnt=7"), mark(end, "end exited=0")]
    make("grown", UTC, events, stacks, files, functions, pid=4242, comm="my app", tids={0: 4242, 1: 4250})


# Of each census: seconds, and by type objects, bytes and their errors; "": the rest.
CENSUSES = [
    (1, {"str": (5000, 400000, 20, 1600), "dict": (900, 90000, 0, 0), "bytearray": (10, 200570, 0, 0),
         "__main__.Session": (10, 1040, 0, 0), "app.Gone": (3, 300, 0, 0), "": (200, 20000, 0, 0)}),
    (30, {"str": (17500, 1150000, 20, 1600), "bytearray": (255, 5114535, 0, 0), "": (900, 90000, 0, 0)}),
    (60, {"bytearray": (500, 10028500, 0, 0), "str": (30000, 1900000, 20, 1600), "dict": (910, 90900, 20, 2000),
          "__main__.Session": (500, 52000, 0, 0), "app.New": (7, 7000, 0, 0), "app.Gone": (1, 100, 0, 0),
          "": (230, 22000, 0, 0)}),
]


def types():
    """What cases like shared/leak.py give: JSON touched the memory, and sessions stay. The last census is cut."""
    files, functions = {0: "/srv/leak.py", 1: "/usr/lib/python3/json/encoder.py"}, {0: "render", 1: "iterencode"}
    stacks = {0: [(0, 9, 0), (1, 258, 1)]}
    mark = Marks(functions)
    events = [mark(UTC, "recording mode=sampled every=65536 min=0 interval_us=1000000 version=1"),
              mark(UTC, "process pid=4243 comm=leak python=3.11.2 command=python3%20leak.py"),
              mark(UTC, "thread n=0 tid=4243 name=main"),
              mark(UTC, "check rss_anon=1000000 swapped=0 held=0 unchecked=0")]
    for second, rows in CENSUSES:
        now = UTC + second * 10**6
        events += [(now - 1000, ALLOC, 0x10000000 + second * MIB, 4 * MIB, 0, 0),
                   mark(now, f"census took_us=30000 rss_anon={second * MIB} pools={second * MIB // 2} limited=0"
                             f" types={len(rows)}")]
        for name, (objects, size, objects_error, error) in rows.items():
            events += [mark(now, f"type{' name=' + name if name else ''} objects={objects} "
                                 f"objects_error={objects_error} bytes={size} bytes_error={error}")]
    end = UTC + 61 * 10**6
    events += [mark(end, "check rss_anon=13000000 swapped=0 held=12582912 unchecked=0"),
               mark(end, "census took_us=9 types=2"), mark(end, "type name=str objects=1 bytes=1"),
               mark(end, "end exited=0")]
    make("types", UTC, events, stacks, files, functions, pid=4243, comm="leak", tids={0: 4243})


def main():
    grown()
    types()
    files, functions = {0: "/path/to/file.py", 1: "/other.py"}, {0: "main", 1: "process_data", 2: "mark <me>"}
    stacks = {0: [(0, 42, 0), (1, 123, 1)], 1: [(0, 7, 0)], 2: []}
    events = [(1000, ALLOC, 0x10, 100, 0, 1), (1005, ALLOC, 0x20, 50, 1, 2), (1005, MARKER, 2),
              (1010, FREE, 0x10), (1020, GC, 12, 3456), (1020, FREE, 0x99), (1030, ALLOC, 0x20, 70, 0, 1),
              (1040, ALLOC, 0x30, 0, 1, 65535), (1050, ALLOC, 0x40, 5, 2, 0)]
    make("basic", 1000, events, stacks, files, functions)
    make("empty", 0, [], {}, {}, {})
    # Ids with holes, large ones, sections in another order, sizes at their limits.
    big = 2**64 - 1
    make("extremes", 5, [(5, ALLOC, big, 2**62, big, 65535), (2**63, ALLOC, 0, 2**61, 7, 0),
                         (2**63, FREE, big), (big, GC, big, big), (big, MARKER, big)],
         {big: [(2**40, 2**31 - 1, big)], 7: [(3, 0, 1)] * 300}, {2**40: "ü\U0001f600\n", 3: ""},
         {big: "\u0000f", 1: "g"}, ("functions", "unknown", "files", "stack_traces"))
    rnd = random.Random(1)
    now, blocks, events = 10**15, [], []
    for _ in range(400):
        now += rnd.choice((0, 1, 130, 70000))
        kind = rnd.choices((ALLOC, FREE, GC, MARKER), (60, 35, 2, 3))[0]
        if kind == ALLOC:
            blocks.append(rnd.randrange(0, 200) * 16)
            events.append((now, ALLOC, blocks[-1], rnd.choice((0, 1, 16, 300, 1 << 20)), rnd.randrange(3),
                           rnd.randrange(4)))
        elif kind == FREE:
            addr = blocks.pop(rnd.randrange(len(blocks))) if blocks and rnd.random() < 0.9 else 0xdead
            events.append((now, FREE, addr))
        elif kind == GC:
            events.append((now, GC, rnd.randrange(1000), rnd.randrange(10**6)))
        else:
            events.append((now, MARKER, 2))
    make("random", 10**15 - 3, events, stacks, files, functions)


if __name__ == "__main__":
    main()
