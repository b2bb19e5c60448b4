# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A function of Python that does nothing but call zlib: for run.py."""
import zlib

from truth import until

DATA = bytes(i * 7919 % 251 for i in range(60000))


def squeeze():
    zlib.compress(DATA, 9)


def run(seconds):
    for _ in until(seconds):
        squeeze()
