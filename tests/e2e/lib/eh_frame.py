# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Libraries whose .eh_frame is a lie: each is a copy of a good one with other bytes in that section.

The code is good: such a library can be loaded and called, as long as nobody throws an exception.
"""
import random
import struct
import subprocess

SOURCE = """
__attribute__((noipa)) void call_again(void (*function)(void)) { function(); }
void call_it(void (*function)(void)) { volatile char room[100]; room[0] = 1; call_again(function); room[1] = 2; }
"""


def good(directory):
    path = directory / "good.so"
    if not path.exists():
        source = directory / "good.c"
        source.write_text(SOURCE)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", path, source], check=True)
    return path


def section(data, wanted):
    """(offset, size) in the file."""
    shoff, = struct.unpack_from("<Q", data, 40)
    entsize, number, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, shoff + i * entsize) for i in range(number)]
    strings = headers[names][4]
    for name, _, _, _, offset, size in headers:
        text = data[strings + name:data.index(b"\0", strings + name)]
        if text == wanted.encode():
            return offset, size
    raise KeyError(wanted)


def entries(frame):
    """(offset, length, CIE pointer) of each entry."""
    at = 0
    while at + 8 <= len(frame):
        length, cie = struct.unpack_from("<II", frame, at)
        if not length:
            return
        yield at, length, cie
        at += 4 + length


def fdes(frame):
    return [(at, length) for at, length, cie in entries(frame) if cie]


def cie_is_itself(frame):
    for at, _ in fdes(frame):
        struct.pack_into("<I", frame, at + 4, 0xfffffffc)


def cie_far_away(frame):
    for at, _ in fdes(frame):
        struct.pack_into("<I", frame, at + 4, 0x7ffffff0)


def lengths_huge(frame):
    for at, _ in fdes(frame):
        struct.pack_into("<I", frame, at, 0xfffffff0)


def lengths_of_64_bits(frame):
    struct.pack_into("<IQ", frame, fdes(frame)[0][0], 0xffffffff, 1 << 63)


def overlapping(frame):
    """Each covers everything, and none the same way."""
    for at, _ in fdes(frame):
        struct.pack_into("<i", frame, at + 8, -(1 << 20))
        struct.pack_into("<I", frame, at + 12, 0x7fffffff)


def instructions(frame, code):
    """The same ones in each entry, as many as there is room."""
    for at, length in fdes(frame):
        room = length - 13
        frame[at + 17:at + 17 + room] = (code * room)[:room]


def remember_for_ever(frame):
    instructions(frame, b"\x0a")


def advance_for_ever(frame):
    instructions(frame, b"\x04\xff\xff\xff\xff")


def endless_numbers(frame):
    instructions(frame, b"\xff")


def expression_loops(frame):
    """DW_CFA_def_cfa_expression: DW_OP_skip -3."""
    instructions(frame, b"\x0f\x03\x2f\xfd\xff")


def cfa_is_elsewhere(frame):
    """A CFA far below SP, so that no caller is further out."""
    instructions(frame, b"\x12\x07\x80\x80\x80\x80\x78")


def cfa_moves_nothing(frame):
    instructions(frame, b"\x0c\x07\x00")


def saved_nowhere(frame):
    """The return address at a far place."""
    instructions(frame, b"\x11\x10\x80\x80\x80\x80\x08")


def noise_of(seed):
    def noise(frame):
        choose = random.Random(seed)
        for at, length in fdes(frame):
            for i in range(at + 8, at + 4 + length):
                frame[i] = choose.randrange(256)
    noise.__name__ = "noise_%d" % seed
    return noise


LIES = (cie_is_itself, cie_far_away, lengths_huge, lengths_of_64_bits, overlapping,
        remember_for_ever, advance_for_ever, endless_numbers, expression_loops, cfa_is_elsewhere,
        cfa_moves_nothing, saved_nowhere, *(noise_of(i) for i in range(12)))


def truncated(data):
    """No section headers, and PT_GNU_EH_FRAME says that it is at the end of the address space."""
    phoff, = struct.unpack_from("<Q", data, 32)
    entsize, number = struct.unpack_from("<HH", data, 54)
    for i in range(number):
        at = phoff + i * entsize
        if struct.unpack_from("<I", data, at)[0] == 0x6474e550:
            struct.pack_into("<QQQQ", data, at + 8, *([(1 << 64) - 4096] * 2), 0, 1 << 40)
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HHH", data, 58, 0, 0, 0)


def header_lies(data):
    """.eh_frame_hdr has more rows than there is room for."""
    offset, size = section(data, ".eh_frame_hdr")
    struct.pack_into("<I", data, offset + 8, 0xffffffff)


def make(directory):
    """The paths of all."""
    whole, paths = good(directory).read_bytes(), []
    for lie in LIES:
        data = bytearray(whole)
        offset, size = section(data, ".eh_frame")
        frame = bytearray(data[offset:offset + size])
        lie(frame)
        data[offset:offset + size] = frame[:size]
        paths.append(write(directory, lie, data))
    for lie in (truncated, header_lies):
        data = bytearray(whole)
        lie(data)
        paths.append(write(directory, lie, data))
    return paths


def write(directory, lie, data):
    path = directory / f"{lie.__name__}.so"
    path.write_bytes(data)
    path.chmod(0o755)
    return path
