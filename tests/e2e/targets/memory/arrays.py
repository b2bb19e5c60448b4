# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NumPy's arrays: made but not touched, touched later, made of ones, added.

Each is small: from 4 MiB on NumPy asks for huge pages (huge.py).
"""
import numpy

from book import MIB, kept, pace, took, took_in


def zeros_untouched(mib):
    arrays = [numpy.zeros(2 * MIB, numpy.uint8) for _ in range(mib // 2)]
    took(0)
    return arrays


def touches_zeros(arrays):
    for array in arrays:
        array[:] = 1
        kept.append(array)
        took(len(array))
        pace(len(array))


def makes_ones(mib):
    for _ in range(mib):
        kept.append(numpy.ones(MIB, numpy.uint8))
        took_in(numpy.ones, MIB)        # it is written in Python
        pace()


def adds(a, mib):
    for _ in range(mib):
        kept.append(a + a)
        took(MIB)
        pace()


def run(mib=16):
    touches_zeros(zeros_untouched(mib))
    makes_ones(mib)
    adds(kept[-1], mib)
