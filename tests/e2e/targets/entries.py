# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Enters and leaves the interpreter from C all the time, under a known stack."""
from truth import leaf, until


def called_from_c(i):
    if i == 0:
        leaf()
    return i


def caller():
    leaf()
    for _ in range(20):
        list(map(called_from_c, range(500)))


def run(seconds):
    for _ in until(seconds):
        caller()
