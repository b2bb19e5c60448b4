# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""deep_native.py SECONDS N...: Python functions that call each other through C, N of them, each N in turn.

Each is called by map(), and that by list(). Below them, burn_N burns CPU. "ready" on stdout, as soon as
all of them have run: from then on the interpreter makes each call in the same way.
"""
import sys
import time

BURN = """
def burn_{0}(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        for i in range(1000):
            i & 3
"""
for number in sys.argv[2:]:
    exec(BURN.format(number))       # a name of its own


def down(n, burn, seconds):
    if n:
        return list(map(down, (n - 1,), (burn,), (seconds,)))
    burn(seconds)


def main():
    depths = [(int(number), globals()["burn_" + number]) for number in sys.argv[2:]]
    sys.setrecursionlimit(10000)
    for _ in range(20):
        for n, burn in depths:
            down(n, burn, 0)
    print("ready", flush=True)
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        for n, burn in depths:
            down(n, burn, 0.05)


main()
