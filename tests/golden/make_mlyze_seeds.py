#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the seeds of tests/fuzz/fuzz_mlyze_join.c and fuzz_mlyze_marks.c.

    tests/golden/make_mlyze_seeds.py tests/golden

join: what a killed recording of memory leaves, as user/formats/mlyze/mlyze_stream.h says: whole, cut off in
both files, and with a frame that got its name later. marks: each word with its keys.
"""
import struct
import sys
from pathlib import Path

from make_mlyze import ALLOC, FREE, GC, MARKER, varint

START = 1_700_000_000_000_000
MARKS = (b"tachbpf recording mode=sampled every=65536 interval_us=1000000 version=0.1.0",
         b"tachbpf process pid=12 comm=a%20b python=3.11.2 container=web command=python3%20-c%20%22%25%22",
         b"tachbpf thread n=3 tid=4711 name=worker-1",
         b"tachbpf check rss_anon=18446744073709551615 swapped=0 held=65536 unchecked=1",
         b"tachbpf gc generation=2 runs=1 uncollectable=0 duration_us=17",
         b"tachbpf lost cause=ring_full cnt=9", b"tachbpf end exited=1", b"not one of ours")


def name(kind, text):
    return kind + varint(len(text)) + text


def numbers(kind, *values):
    return kind + b"".join(map(varint, values))


def names(renamed):
    """Two functions of a file, one frame that is <unresolved>, perhaps only first, and the marks."""
    journal = b"MLYNAMES" + struct.pack("<Q", START)
    journal += name(b"F", b"/srv/app.py") + name(b"N", b"main") + numbers(b"R", 0, 0, 0, 7)
    journal += name(b"F", b"~") + name(b"N", b"<unresolved>") + numbers(b"R", 1, 1, 1, 0)
    journal += numbers(b"S", 2, 0, 1) + numbers(b"S", 0) + b"".join(name(b"N", mark) for mark in MARKS)
    if renamed:
        journal += name(b"N", "\u6f22".encode()) + numbers(b"R", 1, 0, 2 + len(MARKS), 19)
    return journal


def events():
    stream = b"".join(bytes([MARKER]) + varint(i) + varint(2 + i) for i in range(len(MARKS) - 2))
    for i, stack in enumerate((0, 1, 0)):
        stream += (bytes([ALLOC]) + varint(300) + struct.pack("<Q", 0x7f0000001000 + 4096 * i) + varint(65536) +
                   varint(stack) + struct.pack("<H", i))
    stream += bytes([FREE]) + varint(5) + struct.pack("<Q", 0x7f0000001000)
    return stream + bytes([GC]) + varint(0) + varint(12) + varint(0) + bytes([MARKER]) + varint(1) + varint(8)


def joins():
    for journal, stream in ((names(False), events()), (names(True), events()), (names(True)[:-30], events()),
                            (names(False), events()[:-25]), (names(False)[:16], b""),
                            (names(True), events() + bytes(40))):
        yield struct.pack("<I", len(journal)) + journal + stream


def main(golden):
    for target, inputs in (("fuzz_mlyze_join", joins()), ("fuzz_mlyze_marks", MARKS)):
        where = Path(golden) / target
        where.mkdir(exist_ok=True)
        for i, data in enumerate(inputs):
            (where / f"{i}.bin").write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1])
