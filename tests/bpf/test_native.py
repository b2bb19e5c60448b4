# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kernel's walk of machine code over a table that readelf has made: a program without frame
pointers, whose call chain is known."""
import bisect
import os
import platform
import re
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from processes import TIMEOUT

PROGRAM = Path(os.environ["TACHBPF"]).parent / "tests/bpf/native_program"
SP, FP, END, UNSUPPORTED = 1, 2, 5, 6
WHOLE = 0
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define F __attribute__((noinline, noclone))
static __thread volatile long none;
static volatile unsigned long sink;
F void leaf(void) { for (unsigned i = 0; i < 300000; i++) sink += i; }
F int compare(const void *a, const void *b) { leaf(); return *(char *)a - *(char *)b; }
F void sort(void) { char s[] = "ba"; qsort(s, 2, 1, compare); sink += s[0]; }
F void big(int n) { volatile char room[9000]; room[n] = 1; sort(); sink += room[n]; }
F void sized(int n) { volatile char *p = __builtin_alloca(n + 16); p[1] = 1; big(n); sink += p[1]; }
F void down(int n) { if (n) down(n - 1); else sized(16); sink++; }
int main(int argc, char **argv)
{
	unsigned long tp;
	__asm__("mov %%fs:0, %0" : "=r"(tp));
	printf("%ld\n", (long)((char *)&none - (char *)tp));
	fflush(stdout);
	for (;;)
		down(atoi(argv[1]));
}
"""


HEAD = re.compile(r"(\w+) \w+ \w+ (?:(CIE)|FDE cie=(\w+) pc=(\w+)\.\.(\w+))")


def rows_of(path):
    """(address, packed rule) for each row that readelf prints; behind a function there is none."""
    text = subprocess.run(["readelf", "-wF", path], capture_output=True, text=True, check=True).stdout
    rows, initial, column, cie = {}, {}, [], None
    for line in text.splitlines():
        head = HEAD.match(line)
        cells = line.split()
        if head:
            cie = head[1] if head[2] else None
            if not cie:
                rows[int(head[4], 16)] = initial.get(head[3], UNSUPPORTED)
                rows.setdefault(int(head[5], 16), 0)
        elif cells[:2] == ["LOC", "CFA"]:
            column = cells
        elif column and len(cells) == len(column):
            of = dict(zip(column, cells))
            rule = pack(of["CFA"], of.get("rbp", "u"), of["ra"])
            if cie:
                initial[cie] = rule
            else:
                rows[int(of["LOC"], 16)] = rule
    return sorted(rows.items())


def pack(cfa, fp, ra):
    if ra == "u":
        return END
    base = re.fullmatch(r"(rsp|rbp)\+(\d+)", cfa)
    saved = re.fullmatch(r"c-(\d+)", fp)
    if not base or not (saved or fp in ("u", "s")) or ra != "c-8":
        return UNSUPPORTED
    return ((SP if base[1] == "rsp" else FP) | int(base[2]) // 8 << 3 |
            (int(saved[1]) // 8 << 16 if saved else 0) | 1 << 24)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the rows are x86-64's")
@pytest.mark.parametrize("depth", [5, 60])
def test_each_stack_is_the_chain_of_calls(tmp_path, depth):
    target, table = tmp_path / "target", tmp_path / "table"
    (tmp_path / "target.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls",
                    "-static", "-no-pie", "-o", target, tmp_path / "target.c"], check=True)
    rows = rows_of(target)
    start = rows[0][0]
    table.write_bytes(b"".join(struct.pack("<II", addr - start, rule) for addr, rule in rows))
    symbols = sorted((int(a, 16), name) for a, kind, name in
                     (line.split() for line in subprocess.run(
                         ["nm", "--defined-only", target], capture_output=True, text=True,
                         check=True).stdout.splitlines()) if kind in "tTwWiV")
    process = subprocess.Popen([target, str(depth)], stdout=subprocess.PIPE, text=True)
    try:
        off = process.stdout.readline().strip()
        out = subprocess.run([PROGRAM, str(process.pid), off, hex(start), hex(rows[-1][0]),
                              hex(start), table, "1000"], capture_output=True, text=True,
                             timeout=TIMEOUT, check=True).stdout.splitlines()
    finally:
        process.kill()
        process.wait()

    def name(addr):
        addr = int(addr, 16) + start
        return symbols[bisect.bisect(symbols, (addr, "~")) - 1][1]

    stacks = Counter()
    for line in out[:-1]:
        _, end, *frames = line.split()
        stacks[int(end), tuple(map(name, frames))] += 1
    total = sum(stacks.values())
    inner = r"(leaf )?(compare )?(\S*(sort|merge)\S* )*(big )?(sized )?"
    chain = re.compile(inner + rf"(down ){{0,{depth + 1}}}main __libc_start_call_main "
                       r"__libc_start_main(_impl)? _start ")
    right = sum(n for (end, names), n in stacks.items()
                if end == WHOLE and chain.fullmatch("".join(n + " " for n in names)))
    assert total >= 1000
    # The rest: in a copy of memcpy(), whose variants have several names at one address.
    assert right >= 0.99 * total, [s for s in stacks.most_common(20)]
    most = stacks.most_common(1)[0][0]
    assert most[1][0] == "leaf" and most[1].count("down") == depth + 1
