#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Dumps line tables and what the interpreter itself makes of them.

    python3.12 tests/golden/make_lines.py > tests/golden/lines_3.12.txt

Per code object a line "code <minor> <firstlineno> <line table in hex>" and a line of
what co_positions() (3.10: co_lines(), before: dis.findlinestarts()) says of each two bytes
of code, run-length encoded: "<count>*<line>,<end line>,<column>,<end column>",
"-" for None. Code objects are taken from stdlib modules, every n-th one and all that
have an instruction without a line, up to a size that is nice to commit.
"""
import dis
import importlib
import sys
import types

MODULES = "argparse asyncio.base_events dataclasses inspect json.decoder threading typing".split()
BUDGET = 36000  # bytes of output
EVERY = 7


def walk(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from walk(const)


def stdlib_codes():
    for name in MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:     # 3.6 has no dataclasses
            continue
        with open(module.__file__, encoding="utf-8") as f:
            yield from walk(compile(f.read(), name, "exec"))


def positions(code):
    if sys.version_info >= (3, 11):
        yield from code.co_positions()
    elif sys.version_info >= (3, 10):
        for start, end, line in code.co_lines():
            yield from [(line, line, None, None)] * ((end - start) // 2)
    else:
        starts = list(dis.findlinestarts(code)) + [(len(code.co_code), 0)]
        for (start, line), (end, _) in zip(starts, starts[1:]):
            yield from [(line, line, None, None)] * ((end - start) // 2)


def table(code):
    return code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab


def runs(code):
    last, count = None, 0
    for position in positions(code):
        if position != last and count:
            yield count, last
            count = 0
        last, count = position, count + 1
    if count:
        yield count, last


def dump(code):
    cells = ("%d*%s" % (n, ",".join("-" if v is None else str(v) for v in p))
             for n, p in runs(code))
    return "code %d %d %s\n%s\n" % (sys.version_info[1], code.co_firstlineno,
                                    table(code).hex(), " ".join(cells))


def main():
    left = {True: BUDGET // 3, False: BUDGET * 2 // 3}
    print("# CPython %s, tests/golden/make_lines.py" % sys.version.split()[0])
    for i, code in enumerate(stdlib_codes()):
        odd = any(p[0] is None or (p[2] is None and sys.version_info >= (3, 11)) for p in positions(code))
        text = dump(code)
        if (odd or i % EVERY == 0) and len(text) <= min(left[odd], 6000):
            left[odd] -= len(text)
            sys.stdout.write(text)


if __name__ == "__main__":
    main()
