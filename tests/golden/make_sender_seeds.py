#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the seeds of tests/fuzz/fuzz_sender.c: tests/golden/make_sender_seeds.py tests/golden

The first byte says what the rest is: 0 a server's answer in protobuf, 1 the header of a spool's entry,
2 an answer of the sender, 3 servers, 4 a line or a body of gRPC."""
import struct
import sys
import zlib
from pathlib import Path


def entry(*texts, path=1, payload=b"abc"):
    """user/delivery/spool_entry.c: struct head, then the texts."""
    body = "".join(texts).encode()

    def head(crc):
        return struct.pack("<8sIIII6QI4HI", b"TACHSPL\n", 1, crc, 88 + len(body), zlib.crc32(payload),
                           len(payload), 7, 1, 2, 3, 30, path, *map(len, texts), 0)
    return head(zlib.crc32(head(0) + body)) + body


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def answer(text, status=503):
    return struct.pack("<QIIIIQQ201s7x", 5, 1, 1, status, 2000, 100, 0, text)


SEEDS = {
    "success": b"\0" + field(1, b"\x08\x07" + field(2, b"seven are wrong")),
    "status": b"\0" + b"\x08\x03" + field(2, b"bad stack") + field(3, b"\x09" + b"12345678"),
    "entry": b"\1" + entry("grafana", "application/x-protobuf", "gzip", "name=app"),
    "small_entry": b"\1" + entry("o", "", "", "", path=0),
    "answer": b"\2" + answer("später".encode()),
    "empty_answer": b"\2" + answer(b"", 0),
    "grpc_status": b"\4grpc-status: 14\r\n",
    "grpc_message": b"\4grpc-message: no %e2%82%ac\r\n",
    "grpc_body": b"\4" + bytes(4) + b"\x02\x0a\0",
    "servers": b"\3" + b"".join(t + b"\0" for t in (
        b"https://a/x", b"A: b\nC: d", b"", b"", b"secret", b"", b"-----BEGIN", b"", b"", b"10000",
        b"http://b", b"", b"u", b"p", b"", b"http://proxy", b"", b"", b"", b"0")),
}

if __name__ == "__main__":
    for name, data in SEEDS.items():
        (Path(sys.argv[1]) / "fuzz_sender" / (name + ".bin")).write_bytes(data)
