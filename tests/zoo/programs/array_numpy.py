# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NumPy: BLAS has a second thread, which has no Python."""
import numpy

from truth import counted

LEFT = numpy.random.default_rng(1).random((700, 700))


@counted
def matmul():
    LEFT @ LEFT


@counted
def sort():
    numpy.sort(LEFT, axis=None)


@counted
def python_loop():
    sum(x * x for x in range(300000))


for _ in range(40):
    for function in (matmul, sort, python_loop):
        function()
