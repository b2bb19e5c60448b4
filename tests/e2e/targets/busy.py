# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Twelve functions of very different weight, some short calls among them, to compare profilers."""
import time

from truth import leaf, until

spent = {}


def define(name):
    scope = {"leaf": leaf, "step": step}
    exec(compile("def %s(n):\n leaf()\n x = 0\n for i in range(n):\n  x += i & 3\n"
                 " return step(x)\n" % name, __file__, "exec"), scope)
    return scope[name]


def step(x):
    return x + 1


WORK = [(define("work_%02d" % i), 200000 // (i + 2)) for i in range(12)]


def run(seconds):
    for _ in until(seconds):
        for function, n in WORK:
            start = time.thread_time()
            function(n)
            took = time.thread_time() - start
            spent[function.__name__] = spent.get(function.__name__, 0.0) + took
    return {"spent": spent}
