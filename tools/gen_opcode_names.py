#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes user/cpython/opcode_names.inc: what the instructions of each version are called.

    tools/gen_opcode_names.py opcodes.json > user/cpython/opcode_names.inc

opcodes.json is {"3.15": {"names": {"NUMBER": "NAME"}}}, as Include/opcode_ids.h of each version
(Include/opcode.h up to 3.12) has them, specialised and instrumented ones too.
"""
import json
import sys


def main(path):
    with open(path) as f:
        versions = {int(v.split(".")[1]): d["names"] for v, d in json.load(f).items()}
    print("/* Made by tools/gen_opcode_names.py. Names of instructions by opcode. */")
    for minor in sorted(versions):
        print("static const char *const names_3%d[256] = {" % minor)
        line = "\t"
        for number, name in sorted((int(n), name) for n, name in versions[minor].items()):
            entry = '[%d] = "%s",' % (number, name)
            if len(line.expandtabs()) + len(entry) + 1 > 100:
                print(line.rstrip())
                line = "\t"
            line += entry + " "
        print(line.rstrip() + "\n};")


if __name__ == "__main__":
    main(sys.argv[1])
