# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""sessions.py TRUTH COUNT: a leak of small objects, beside temporaries that reuse freed memory, with a book by type.

Holds COUNT sessions, each with a bytearray and a list of strings; for each line of its input it makes as many again,
says "done", and writes what it holds by type. Leaves at the end of its input.
"""
import json
import sys

CACHE = {}
BYTES = 20000
STRINGS = 20


class Session:
    def __init__(self, i):
        self.i = i
        self.data = bytearray(BYTES)
        self.history = ["session %d, entry %d" % (i, j) for j in range(STRINGS)]


def render():
    return json.dumps({"rows": list(range(500))})


def handle(count):
    for _ in range(count):
        i = len(CACHE)
        CACHE[i] = Session(i)
        render()


def write(path):
    cnt = len(CACHE)
    book = {"__main__.Session": cnt, "bytearray": cnt, "list": cnt, "str": cnt * STRINGS}
    with open(path, "w") as f:
        json.dump({"types": book, "bytearray_bytes": sum(sys.getsizeof(s.data) for s in CACHE.values())}, f)


def main():
    path, count = sys.argv[1], int(sys.argv[2])
    handle(count)
    write(path)
    print("ready", flush=True)
    for _ in sys.stdin:
        handle(count)
        write(path)
        print("done", flush=True)


main()
