# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Cython: Python calls it, and it calls Python."""
import cython_part
import work
from truth import counted


@counted
def compiled():
    cython_part.drive(int, 10)


def main():
    for _ in range(15):
        compiled()
        cython_part.drive(work.handle, 4)


main()
