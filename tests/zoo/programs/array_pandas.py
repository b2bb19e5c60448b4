# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pandas: groups and joins in C, and Python called for each group."""
import numpy
import pandas

from truth import counted

random = numpy.random.default_rng(1)
TABLE = pandas.DataFrame({"key": random.integers(0, 500, 200000), "value": random.random(200000)})


def spread(values):
    return values.max() - values.min()


@counted
def group():
    TABLE.groupby("key")["value"].agg(["mean", "sum", "std"])


@counted
def apply():
    TABLE.head(20000).groupby("key")["value"].apply(spread)


@counted
def join():
    TABLE.head(50000).merge(TABLE.head(500), on="key", how="left")


for _ in range(100):
    for function in (group, apply, join):
        function()
