# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""hoard.py TRUTH: hoard() keeps a MiB at each call; stretch() lengthens a buffer, which the C library
moves by mremap(), and touches what is new. Speaks as run.py does: ready, go, done."""
import json
import sys
import time

MIB = 1 << 20
kept = []


def hoard():
    kept.append(bytearray(MIB))


def stretch(buffer):
    buffer.extend(bytes(MIB // 4))


def main():
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(24):
        hoard()
        time.sleep(0.01)
    buffer = bytearray()
    for _ in range(64):
        stretch(buffer)
        time.sleep(0.01)
    with open(sys.argv[1], "w") as f:
        json.dump({"hoard": len(kept) * MIB, "stretch": len(buffer)}, f)
    print("done", flush=True)
    sys.stdin.readline()


main()
