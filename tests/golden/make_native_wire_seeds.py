#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make_native_wire_seeds.py: writes the seeds of tests/fuzz/fuzz_native_wire.c, next to itself.

First byte: the count of the message. Then its data: struct opener_map with paths
(user/native/native_wire.h), or struct elf_name with texts (user/elf_helper/elf_wire.h).
"""
import struct
from pathlib import Path

OUT = Path(__file__).parent / "fuzz_native_wire"


def mapping(start, end, offset, dev, ino, path):
    text = path.encode() + b"\0"
    head = struct.pack("<5QII", start, end, offset, dev, ino, len(text), 0)
    return head + text + bytes(-len(text) % 8)


def name(addr, start, text, line=0, source="", inlined=0):
    texts = text.encode() + b"\0" + (source.encode() + b"\0" if source else b"")
    return struct.pack("<QQIHHH6x", addr, start, line, len(text) + 1, len(source) + 1 if source else 0,
                       inlined) + texts


def main():
    OUT.mkdir(exist_ok=True)
    maps = [mapping(0x400000, 0x401000, 0, 1, 2, "/usr/bin/python3"), mapping(0x500000, 0x501000, 0, 0, 0, ""),
            mapping(0x600000, 0x602000, 0x1000, 1, 3, "/usr/lib/libc.so.6 (deleted)")]
    names = [name(1, 1, "foo"), name(2, 0, ""), name(3, 1, "inner", 7, "a.h", 1), name(3, 1, "outer", 9, "a.c")]
    (OUT / "maps.bin").write_bytes(bytes([len(maps)]) + b"".join(maps))
    (OUT / "names.bin").write_bytes(bytes([len(names)]) + b"".join(names))


if __name__ == "__main__":
    main()
