# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""SciPy: a solver in Fortran or C++ that calls Python for each value, and linear algebra."""
import numpy
from scipy import integrate, linalg, optimize

from truth import counted

MATRIX = numpy.random.default_rng(1).random((300, 300))


def slope(t, y):
    return [y[1], -y[0] + 0.1 * sum(range(50))]


@counted
def solve():
    integrate.solve_ivp(slope, (0, 20), [1.0, 0.0], method="LSODA")


@counted
def minimise():
    optimize.minimize(optimize.rosen, [1.3, 0.7, 0.8, 1.9, 1.2])


@counted
def decompose():
    linalg.svd(MATRIX)


for _ in range(40):
    for function in (solve, minimise, decompose):
        function()
