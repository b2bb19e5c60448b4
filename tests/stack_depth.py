#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""stack_depth.py [OBJECT]: no BPF program's calls need more stack than the kernel allows, whatever its version.

The kernel adds up the stack of functions that call each other, and refuses more than 512 bytes. Linux before 6.9
rounds each one's up to 32 bytes, and no kernel that the tests boot is one that both does that and reads directly.
"""
import re
import subprocess
import sys
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

OBJECT = Path(__file__).resolve().parents[1] / "bpf" / "tachbpf.bpf.o"
STACK_MAX = 512     # MAX_BPF_STACK, include/linux/filter.h
ROUNDED = 32        # kernel/bpf/verifier.c, check_max_stack_depth(), before 6.9

FUNCTION = re.compile(r"[0-9a-f]+ <(\w+)>:")
SLOT = re.compile(r"\(r10 - (0x[0-9a-f]+|\d+)\)")
COPY = re.compile(r"(r\d) = r10$")
BELOW = re.compile(r"(r\d) \+= -(0x[0-9a-f]+|\d+)$")
CALL = re.compile(r"R_BPF_64_32\s+(\w+)")


def functions(lines):
    """name -> (bytes of stack, {names it calls}), of the output of llvm-objdump -d -r."""
    found, name, copied = defaultdict(lambda: [0, set()]), None, set()
    for line in map(str.rstrip, lines):
        if (m := FUNCTION.match(line)):
            if not m[1].startswith("LBB"):      # a label within a function
                name = m[1]
                found[name]
            copied = set()
        elif (m := SLOT.search(line)):
            found[name][0] = max(found[name][0], int(m[1], 0))
        elif (m := COPY.search(line)):
            copied.add(m[1])
        elif (m := BELOW.search(line)) and m[1] in copied:
            copied.remove(m[1])
            found[name][0] = max(found[name][0], int(m[2], 0))
        elif (m := CALL.search(line)):
            found[name][1].add(m[1])
    return {name: (size, calls) for name, (size, calls) in found.items()}


def deepest(table):
    """name -> (bytes, names) of the calls from it that need most stack."""
    @lru_cache(maxsize=None)
    def of(name):
        if name not in table:       # the kernel's
            return 0, ()
        size, calls = table[name]
        size = -(-max(size, 1) // ROUNDED) * ROUNDED
        below = max(map(of, calls), default=(0, ()))
        return size + below[0], (name, *below[1])
    return {name: of(name) for name in table}


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else OBJECT
    if not path.exists():
        print(f"SKIP: {path} is not there: the programs came compiled (GENERATED)")
        return 0
    done = subprocess.run(["llvm-objdump", "-d", "-r", "--no-show-raw-insn", path], capture_output=True, text=True,
                          check=True)
    worst = deepest(functions(done.stdout.splitlines()))
    bad = [(size, names) for size, names in worst.values() if size > STACK_MAX]
    for size, names in sorted(bad, reverse=True):
        print(f"{' > '.join(names)}: {size} bytes of stack, of {STACK_MAX}")
    if not bad:
        size, names = max(worst.values())
        print(f"at most {size} bytes of stack, of {STACK_MAX}: {' > '.join(names)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
