# cython: language_level=3
"""Compiled by Cython: calls Python for each of its steps."""


def drive(callback, int times):
    cdef double total = 0
    cdef int i, k
    for i in range(times):
        for k in range(3000000):
            total += k % 7
        callback()
    return total
