# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Numba: compiled code, in this thread and in threads of its own; the compiler is Python."""
import numba

from truth import counted


@numba.njit
def one(n):
    total = 0.0
    for i in range(n):
        total += (i % 7) ** 0.5
    return total


@numba.njit(parallel=True)
def many(n):
    total = 0.0
    for i in numba.prange(n):
        total += (i % 7) ** 0.5
    return total


@counted
def compile_it():
    one(10)
    many(10)


@counted
def alone():
    one(4000000)


@counted
def together():
    many(4000000)


compile_it()
for _ in range(40):
    alone()
    together()
