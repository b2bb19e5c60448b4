# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hostile columns: whatever is changed, reading ends with a profile or with tachbpf.Error."""
import json
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
import tachbpf
from tachbpf._columns import ALIGN, FLOATS, NAME_BYTES, SAMPLES, TABLES, Columns
from tachbpf._profile import Profile

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
INDICES = ["sample.thread", "sample.stack", "stack.frames",
           *(name for table in TABLES.values() for name, refers in table.items() if refers)]


@pytest.fixture(scope="module")
def good(program, tmp_path_factory):
    """Columns of two processes, one of which has lost samples."""
    paths = []
    for name in ("cpu_raw", "native_opcodes"):
        paths.append(str(tmp_path_factory.mktemp("good") / "12-app.tach"))
        shutil.copy(GOLDEN / f"tach/{name}.bin", paths[-1])
    Path(paths[0] + ".json").write_text(json.dumps({"lost": {"ring_full": 7, "other": 2},
                                                    "processes": [{"file": "12-app.tach", "pid": 12, "comm": "app"}]}))
    return subprocess.run([program, "convert", "--format", "columns", "-o", "-", *paths], stdout=subprocess.PIPE, check=True).stdout


def columns_in(data):
    """(name, width, count, offset of the values) of each."""
    at = ALIGN
    while at < len(data):
        name = data[at:at + NAME_BYTES].rstrip(b"\0").decode()
        width, _, count = struct.unpack_from("<IIQ", data, at + NAME_BYTES)
        yield name, width, count, at + ALIGN
        at += ALIGN + -(-width * count // ALIGN) * ALIGN


def use(data):
    """Reads everything that a profile can be asked for without libraries."""
    p = Profile(Columns(memoryview(bytes(data))), ["x"])
    p.functions(), p.lines(native=True, detail=True), p.stacks(), p.tree(), p.diff(p), repr(p), p._repr_html_()
    p.meta, p.processes, p.threads, list(p.samples), p._names


def test_good(good):
    use(good)
    assert [name for name, *_ in columns_in(good)][-1] == "end"
    names = {name for name, *_ in columns_in(good)}
    assert names == {*SAMPLES, *(n for t in TABLES.values() for n in t), *(n for n in FLOATS if n in names), "string.ends",
                     "string.bytes", "stack.ends", "stack.frames", "stack.weight", "end"}


def test_cut_anywhere(good):
    for size in [0, 1, 8, 63, 64, 65, *range(100, len(good), 997), len(good) - 64, len(good) - 1]:
        with pytest.raises(tachbpf.Error, match="damaged columns"):
            use(good[:size])


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("value", [-2, 0x7fffffff, -0x80000000, "count"])
def test_an_index_beyond_its_table(good, name, value):
    width, count, at = next((w, c, at) for n, w, c, at in columns_in(good) if n == name)
    assert count
    data = bytearray(good)
    if width == 1:
        data[at + count - 1] = 255
    else:
        struct.pack_into("<i", data, at + 4 * (count - 1), 1 << 20 if value == "count" else value)
    with pytest.raises(tachbpf.Error, match="damaged columns"):
        use(data)


@pytest.mark.parametrize("name", ["string.ends", "stack.ends"])
def test_ends_that_decrease(good, name):
    at = next(at for n, _, _, at in columns_in(good) if n == name)
    for value in (-1, 0x7fffffff):
        data = bytearray(good)
        struct.pack_into("<i", data, at + 8, value)
        with pytest.raises(tachbpf.Error, match="damaged columns"):
            use(data)


def test_counts_and_widths(good):
    for name, width, count, at in columns_in(good):
        for other in (0, 2, 3, 1 << 31):
            data = bytearray(good)
            struct.pack_into("<I", data, at - ALIGN + NAME_BYTES, other)
            with pytest.raises(tachbpf.Error, match="damaged columns"):
                use(data)
        data = bytearray(good)
        struct.pack_into("<Q", data, at - 8, (1 << 64) - 1)
        with pytest.raises(tachbpf.Error, match="damaged columns"):
            use(data)
        if name != "end":
            data = bytearray(good)
            data[at - ALIGN:at - ALIGN + 3] = b"zzz"     # a column that nobody knows
            with pytest.raises(tachbpf.Error, match="damaged columns"):
                use(data)


def test_a_string_that_is_not_utf8(good):
    at = next(at for n, _, _, at in columns_in(good) if n == "string.bytes")
    data = bytearray(good)
    data[at] = 0xff
    with pytest.raises(tachbpf.Error, match="UTF-8"):
        use(data)


def test_unknown_columns_are_passed_over(good):
    more = struct.pack("<48sIIQ", b"later.column", 4, 0, 3) + bytes(ALIGN)
    use(good[:ALIGN] + more + good[ALIGN:])


def test_random_damage(good):
    """Bytes, and whole heads, at random: always a profile or an Error, and never anything else."""
    chance, refused = random.Random(56), 0
    for _ in range(150):
        data = bytearray(good)
        for _ in range(chance.choice((1, 3, 20))):
            at = chance.randrange(len(data))
            data[at] = chance.choice((0, 255, data[at] ^ 1 << chance.randrange(8)))
        try:
            use(data)
        except tachbpf.Error:
            refused += 1
    assert 0 < refused
