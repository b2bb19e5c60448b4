#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Cuts the section .AsyncioDebug out of _asyncio's shared object, or of a CPython that has it
built in (3.14+).

    tests/golden/make_asyncio.py /usr/bin/python3.15 > tests/golden/asyncio_3.15.bin
"""
import struct
import sys


def section(data, wanted):
    shoff, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, shoff + i * size) for i in range(count)]
    for name, _, _, _, off, length in headers:
        at = headers[names][4] + name
        if data[at:data.index(b"\0", at)] == wanted:
            return data[off:off + length]
    return None


def main(path):
    with open(path, "rb") as f:
        found = section(f.read(), b".AsyncioDebug")
    if not found:
        sys.exit("no .AsyncioDebug in " + path)
    sys.stdout.buffer.write(found)


if __name__ == "__main__":
    main(sys.argv[1])
