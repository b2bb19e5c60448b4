#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the seeds of tests/fuzz/fuzz_image.c and fuzz_resolver.c.

    tests/golden/make_fuzz_seeds.py tests/golden

image: each made-up CPython, with a few changes, and an ELF header alone. resolver: a code
object with its strings and line table, for 3.6, 3.10, 3.11 and 3.12; pointers are offsets in the memory.
"""
import os
import struct
import sys

# co_filename, co_name, co_qualname, co_linetable, co_firstlineno, co_version, co_code; then
# sizeof(PyASCIIObject), sizeof(PyCompactUnicodeObject): user/cpython/layouts.inc
ROWS = {6: (96, 104, 104, 112, 36, None, 40, 48, 72),
        10: (104, 112, 112, 120, 40, None, 48, 48, 72),
        11: (112, 120, 128, 136, 72, None, 184, 48, 72),
        12: (112, 120, 128, 136, 68, 92, 192, 40, 56)}
ASCII, COMPACT, KIND = 0x40, 0x20, 2
PAIRS = bytes((0, 1, 8, 2, 6, 255, 250, 0, 4, 128, 10, 3))
BYTECODE = bytes((151, 0, 171, 1, 106, 7, 1, 9, 255, 3, 1, 0))
TABLE = bytes((0x80, 0x21, 0x80 | 11 << 3, 4, 9, 0xf0, 2, 1, 5, 7, 0xe8, 5, 0xf8))
LASTI = 1


def put(memory, at, data):
    memory[at:at + len(data)] = data


def put_str(memory, at, text, row):
    width = 1 if max(text) < "\x80" else 2 if max(text) < "\U00010000" else 4
    state = width << KIND | COMPACT | (ASCII if width == 1 else 0)
    put(memory, at + 16, struct.pack("<Q", len(text)))
    put(memory, at + 32, struct.pack("<I", state))
    encoding = {1: "ascii", 2: "utf-16-le", 4: "utf-32-le"}[width]
    put(memory, at + row[7 if width == 1 else 8], text.encode(encoding))


def resolver(minor, names):
    row = ROWS[minor]
    memory = bytearray(1200)
    code, table, strings = 16, 300, (400, 600, 800)
    for offset, target in zip(row, (strings[0], strings[1], strings[2], table)):
        put(memory, code + offset, struct.pack("<Q", target))
    put(memory, code + row[4], struct.pack("<i", 42))
    lines = TABLE if minor >= 11 else PAIRS
    if minor >= 11:
        put(memory, code + row[6], BYTECODE)
    else:       # an object of its own
        put(memory, code + row[6], struct.pack("<Q", 1000))
        put(memory, 1032, BYTECODE)
    put(memory, table + 16, struct.pack("<Q", len(lines)))
    put(memory, table + 32, lines)
    for at, text in zip(strings, names):
        put_str(memory, at, text, row)
    return bytes((minor - 6, LASTI, 0, 0)) + struct.pack("<I", code) + memory


def images():
    yield b"\0\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 120, 0,
                                                     64, 56, 1, 64, 1, 0) + bytes(120)
    for which in range(1, 14):
        yield bytes((which, 0x10, 0, 2, 0x80, 1, 0xff, 0, 3, 1))


def main(golden):
    seeds = {"fuzz_image": list(images()), "fuzz_resolver": [
        resolver(11, ("/srv/spam.py", "eggs", "Spam.eggs")),
        resolver(12, ("/srv/\u6f22.py", "eggs", "\U0001f600.eggs")),
        resolver(6, ("/srv/spam.py", "eggs", "eggs")),
        resolver(10, ("/srv/\u6f22.py", "\U0001f600", "\U0001f600"))]}
    for name, inputs in seeds.items():
        os.makedirs(os.path.join(golden, name), exist_ok=True)
        for i, data in enumerate(inputs):
            with open(os.path.join(golden, name, "%d.bin" % i), "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main(sys.argv[1])
