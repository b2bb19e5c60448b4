# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""400 frames, more than a TACH stack can hold."""
from truth import leaf, until


def floor():
    leaf()
    x = 0
    for i in range(20000):
        x += i & 3
    return x


def descend(n):
    if n == 1:
        return floor()
    return descend(n - 1)


def run(seconds):
    for _ in until(seconds):
        descend(400)
