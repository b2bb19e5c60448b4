# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A plain recursion 200 deep that burns at the bottom."""
from truth import leaf, until


def bottom():
    leaf()
    x = 0
    for i in range(20000):
        x += i & 3
    return x


def recurse(n):
    if n == 1:
        return bottom()
    return recurse(n - 1)


def run(seconds):
    for _ in until(seconds):
        recurse(200)
