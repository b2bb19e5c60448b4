#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Cuts struct _Py_DebugOffsets out of a CPython binary (3.13+).

    tests/golden/make_debug_offsets.py /usr/bin/python3.13 > tests/golden/debug_offsets_3.13.bin
"""
import struct
import sys

SIZE = {13: 584, 14: 760, 15: 888}  # user/cpython/debug_offsets.c


def main(path):
    with open(path, "rb") as f:
        data = f.read()
    at = data.find(b"xdebugpy")
    while at >= 0:
        version, = struct.unpack_from("<Q", data, at + 8)
        minor = version >> 16 & 255
        if version >> 24 == 3 and minor in SIZE:
            sys.stdout.buffer.write(data[at:at + SIZE[minor]])
            return
        at = data.find(b"xdebugpy", at + 1)
    sys.exit("no debug offsets in " + path)


if __name__ == "__main__":
    main(sys.argv[1])
