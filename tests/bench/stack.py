# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""stack.py DEPTH distinct|recursion [MIB]: burn CPU for ever under a stack of exactly DEPTH frames.

"distinct" gives each level a code object of its own, as real programs have;
"recursion" is one code object again and again. MIB: walk through that much memory meanwhile, so that
at a low rate no cache keeps what the last sample read.
"""
import sys

PAGE, LINE = 4096, 64
memory = bytearray(int(sys.argv[3]) << 20) if len(sys.argv) > 3 else None
FUNCTION = "def {name}(n):\n return {callee}(n - 1)\n"


def leaf(n):
    print("ready", flush=True)
    while True:
        for i in range(10000):
            i & 3


def walk(n):
    """Another page and another line with each step; after 65 rounds each line had its turn."""
    print("ready", flush=True)
    while True:
        for first in range(0, PAGE + LINE, LINE):
            for i in range(first, len(memory), PAGE + LINE):
                memory[i] = i & 255


def recurse(n):
    if n == 0:
        return (walk if memory else leaf)(n)
    return recurse(n - 1)


def chain(levels):
    scope = {"level_0": walk if memory else leaf}
    for i in range(1, levels + 1):
        exec(compile(FUNCTION.format(name="level_%d" % i, callee="level_%d" % (i - 1)),
                     "level_%d.py" % i, "exec"), scope)
    return scope["level_%d" % levels]


def main():
    # <module>, main and leaf or walk are three of the frames
    depth, kind = int(sys.argv[1]), sys.argv[2]
    if kind == "distinct":
        chain(depth - 3)(depth)
    else:
        recurse(depth - 4)


main()
