# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Methods, nested functions, lambdas: whatever has a qualified name."""
from truth import leaf, until


class Engine:
    @classmethod
    def from_class(cls):
        leaf()
        for i in range(8000):
            i & 3

    @staticmethod
    def static():
        leaf()
        for i in range(8000):
            i & 3

    class Part:
        def turn(self):
            leaf()
            for i in range(8000):
                i & 3

    @property
    def power(self):
        leaf()
        for i in range(8000):
            i & 3


def make():
    def nested():
        leaf()
        for i in range(8000):
            i & 3
    return nested


small = lambda: (leaf(), sum(map(small_step, range(20))))  # noqa: E731
small_step = lambda i: sum(range(1500))  # noqa: E731


def run(seconds):
    nested, part, engine = make(), Engine.Part(), Engine()
    for _ in until(seconds):
        Engine.from_class()
        Engine.static()
        part.turn()
        engine.power
        nested()
        small()
