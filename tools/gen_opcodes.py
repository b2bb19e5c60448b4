#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes user/cpython/opcodes.inc from the headers of installed interpreters.

    tools/gen_opcodes.py python3.11 ... python3.15 > user/cpython/opcodes.inc

Inline cache lengths are in Include/internal/pycore_opcode.h, from 3.13 on pycore_opcode_metadata.h
(_PyOpcode_Caches, by unspecialised opcode; _PyOpcode_Deopt leads there). Python 3.6+, no
dependencies.
"""
import os
import re
import subprocess
import sys

# The opcode is elsewhere.
UNKNOWN = 255
ELSEWHERE = ("INSTRUMENTED_LINE", "INSTRUMENTED_INSTRUCTION", "ENTER_EXECUTOR")


def include_dir(python):
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    return subprocess.check_output([python, "-c", code], universal_newlines=True).strip()


def table(text, name):
    body = re.search(r"const uint8_t %s\[256\] = \{(.*?)\};" % name, text, re.S).group(1)
    return dict(re.findall(r"\[(\w+)\] = (\w+)", body))


def headers(include):
    """(where the numbers of opcodes are, where their caches' lengths)"""
    for numbers, lengths in (("opcode_ids.h", "pycore_opcode_metadata.h"),
                             ("opcode.h", "pycore_opcode.h")):
        pair = (os.path.join(include, numbers), os.path.join(include, "internal", lengths))
        if all(map(os.path.exists, pair)):
            return pair
    return None


def caches(include):
    numbers_in, lengths_in = headers(include)
    with open(numbers_in) as f:
        numbers = {n: int(v) for n, v in re.findall(r"#define (\w+)\s+(\d+)$", f.read(), re.M)}
    with open(lengths_in) as f:
        text = f.read()
    lengths, deopt = table(text, "_PyOpcode_Caches"), table(text, "_PyOpcode_Deopt")
    out = [0] * 256
    for name, number in numbers.items():
        if name in ELSEWHERE:
            out[number] = UNKNOWN
            continue
        base = name.replace("INSTRUMENTED_", "")
        if base in deopt:  # and not one of opcode.h's NB_ADD, HAVE_ARGUMENT, ...
            out[number] = int(lengths.get(deopt[base], 0))
    return out


def minor(include):
    with open(include + "/patchlevel.h") as f:
        return int(re.search(r"#define PY_MINOR_VERSION\s+(\d+)", f.read()).group(1))


def main(pythons):
    rows = {}
    for python in pythons:
        include = include_dir(python)
        rows[minor(include)] = caches(include)
    print("/* Made by tools/gen_opcodes.py. Code units of inline cache behind each opcode. */")
    for m in sorted(rows):
        print("static const uint8_t cache_units_3%d[256] = {" % m)
        for i in range(0, 256, 16):
            print("\t" + " ".join("%d," % v for v in rows[m][i:i + 16]))
        print("};")


if __name__ == "__main__":
    main(sys.argv[1:])
