#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make_elf_seeds.py - writes fuzz_elf_symbols/, fuzz_elf_wire/ and fuzz_perf_map/, the seeds of the
fuzz targets with these names: small libraries by gcc and objcopy, messages, perf maps. gcc's version
changes the libraries' bytes."""
import struct
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = """
namespace ns { template <typename T> T f(T v) { return v * 2; } }
static int __attribute__((noinline)) inner(int n) { return n * 3; }
extern "C" int outer(int n) { return inner(n) + ns::f<int>(n); }
extern "C" int alias(int n) __attribute__((alias("outer")));
"""
PASS_FILE, PASS_MORE, TABLE, NAMES, MATCH, FORGET, PERF_NAMES = 4, 5, 9, 10, 11, 12, 13


def run(*argv):
    subprocess.run([str(a) for a in argv], check=True)


def write(folder, number, data, suffix="bin"):
    path = HERE / folder / f"{number}.{suffix}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def libraries(top):
    """With all symbols, with those of .dynsym and a link to others, with packed ones."""
    code, lib, debug = top / "a.cc", top / "a.so", top / "a.debug"
    code.write_text(SOURCE)
    run("gcc", "-O1", "-g", "-shared", "-fPIC", "-nostdlib", "-Wl,--build-id=sha1,-z,noseparate-code", "-o", lib, code)
    run("objcopy", "--only-keep-debug", lib, debug)
    run("strip", "-g", lib)
    yield lib.read_bytes()
    run("strip", lib)
    run("objcopy", f"--add-gnu-debuglink={debug}", lib)
    yield lib.read_bytes()
    run("objcopy", "-S", "-K", "inner", debug, top / "mini")
    run("xz", top / "mini")
    run("objcopy", "--add-section", f".gnu_debugdata={top / 'mini.xz'}", lib)
    yield lib.read_bytes()


def message(kind, data=b"", cnt=0, file=1, flags=0, to_opener=0, descriptor=0):
    packet = struct.pack("<IIIiIIII", kind, file, 1, 0, cnt, len(data), flags, 0) + data
    return struct.pack("<BH", to_opener | descriptor << 1, len(packet)) + packet


def main():
    with tempfile.TemporaryDirectory() as top:
        for number, data in enumerate(libraries(Path(top))):
            write("fuzz_elf_symbols", number, data)
    addrs = struct.pack("<3Q", 0x1000, 0x1085, 1 << 40)
    write("fuzz_elf_wire", 0, message(NAMES, addrs, 3) + message(PERF_NAMES, addrs, 3) + message(FORGET))
    write("fuzz_elf_wire", 1, message(TABLE) + message(MATCH, b"a*\0b\0", 2) + message(NAMES, addrs, 3, file=2))
    write("fuzz_elf_wire", 2, message(PASS_MORE, bytes(192), file=0, to_opener=1)
          + message(PASS_FILE, file=2, to_opener=1, descriptor=1) + message(PERF_NAMES, addrs, 3, file=2)
          + message(PASS_MORE, to_opener=1, descriptor=1) + message(NAMES, addrs, 3, file=2, flags=1))
    write("fuzz_perf_map", 0, b"1000 100 first\n1100 80 py::f:/x/y z.py\n1040 10 second\n", "txt")
    write("fuzz_perf_map", 1, b"7f0000001000 20 a\n0x7f0000001010 0x20 b\n7f0000000ff0 100 c\nffffffffffffff00 1000 d\n0 ffffffffffffffff e\n", "txt")


if __name__ == "__main__":
    main()
