# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scikit-learn: OpenMP's threads, which have no Python."""
import numpy
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier

from truth import counted

random = numpy.random.default_rng(1)
POINTS = random.random((20000, 12))
KINDS = (POINTS.sum(axis=1) > 6).astype(int)


@counted
def cluster():
    KMeans(8, n_init=1, max_iter=20, random_state=1).fit(POINTS)


@counted
def boost():
    HistGradientBoostingClassifier(max_iter=6, random_state=1).fit(POINTS, KINDS)


for _ in range(10):
    cluster()
    boost()
