# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gperftools/*.prof and what is in them: both word sizes and byte orders, both versions, all texts."""
import struct
from pathlib import Path

from expect import place, write

HERE = Path(__file__).parent / "gperftools"

RECORDS = [(5, [0x1010, 0x2020, 0x2fff]), (1, [0x2020]), (7, [0x1010, 0x2020, 0x2fff]),
           (2, [0x9999, 0x3000, 0x2fff]), (3, [0x1fff] + [0x2020] * 299)]
MAPS = (b"build=/opt/build dir\n"
        b"00001000-00002000 r-xp 00000400 fe:01 123    /usr/bin/app\n"
        b"00002000-00003000: $build/lib/x.so\n"
        b"00003000-00004000 r-xp 00000000 00:00 0      $buildx [vdso]\n"
        b"00004000-00005000 r--p 00000000 00:00 0\n"
        b"this line says nothing\n\n")
MAPPED = {0x1010: place("app+0x410", "/usr/bin/app"), 0x1fff: place("app+0x13ff", "/usr/bin/app"),
          0x2020: place("x.so+0x20", "/opt/build dir/lib/x.so"),
          0x2fff: place("x.so+0xfff", "/opt/build dir/lib/x.so"),
          0x3000: place("$buildx [vdso]+0x0", "$buildx [vdso]"), 0x9999: place("0x9999")}


def binary(code, version=0, period=10000, extra=0, trailer=True):
    words = [0, 3 + extra, version, period, 0] + [77] * extra
    for count, pcs in RECORDS:
        words += [count, len(pcs), *pcs]
    words += [0, 1, 0] if trailer else []
    return struct.pack(f"{code[0]}{len(words)}{code[1]}", *words)


def answer(name, frame_of, period=10000):
    """frame_of(address, is it a caller's)"""
    events, now = [], 0
    for count, pcs in RECORDS:
        events.append((0, now, count, [frame_of(pc, i > 0) for i, pc in enumerate(pcs)]))
        now += count * period
    write(HERE / f"{name}.txt", [("samples", 0, None, events)])


def main():
    for name, code in (("le64", "<Q"), ("be64", ">Q"), ("le32", "<I"), ("be32", ">I")):
        (HERE / f"{name}.prof").write_bytes(binary(code) + MAPS)
        answer(name, lambda pc, caller: MAPPED[pc])
    (HERE / "more_header.prof").write_bytes(binary("<Q", extra=2, period=1))
    answer("more_header", lambda pc, caller: place(hex(pc)), period=1)
    # Version 1: addresses as they are, symbols behind the trailer, the first of two counts.
    text = (b"  0x1010 pkg.leaf (/src/a.go:10)\n  0x2020 pkg.(*T).mid (/src/b (1).go:20)\n"
            b"  0x2fff main\n  0X1FFF upper (c.go:0)\n  0x2020 twice (x:1)\n  0xzz bad\n0x3000\n")
    (HERE / "go.prof").write_bytes(binary("<Q", version=1) + text)
    names = {0x1010: place("pkg.leaf", "/src/a.go", 10), 0x2020: place("pkg.(*T).mid", "/src/b (1).go", 20),
             0x2fff: place("main"), 0x1fff: place("upper", "c.go")}
    answer("go", lambda pc, caller: names.get(pc) or place(hex(pc)))
    # google-pprof --raw: symbols first, callers one less than in the records, no trailer.
    head = (b"--- symbol\nbinary=/usr/bin/app\n0x0000000000001010 leaf(int (*)(char))\n"
            b"0x000000000000201f call_in_mid\n0x0000000000002020 mid_itself\n0x2ffe root--inlined\n"
            b"---\n--- profile\n")
    (HERE / "perl.prof").write_bytes(head + binary("<Q", trailer=False))
    (HERE / "perl_be32.prof").write_bytes(head + binary(">I"))
    leaf = {0x1010: "leaf(int (*)(char))", 0x2020: "mid_itself"}
    call = {0x2020: "call_in_mid", 0x2fff: "root--inlined"}
    for name in ("perl", "perl_be32"):
        answer(name, lambda pc, caller: place((call if caller else leaf).get(pc, hex(pc))))


if __name__ == "__main__":
    main()
