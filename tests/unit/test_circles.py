#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_circles.py - tests/circles.py finds circles of any length, and nothing else."""
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import circles  # noqa: E402


def graph(*calls):
    """As nm -A prints it: each file has a function of its name; calls are (caller, callee)."""
    lines = []
    for member in sorted({name for call in calls for name in call}):
        lines.append(f"lib.a:{member}.o:0000000000000000 T {member}")
        lines.append(f"lib.a:{member}.o:0000000000000000 t local")
        lines.append(f"lib.a:{member}.o:                 U malloc")
    lines += [f"lib.a:{caller}.o:                 U {callee}" for caller, callee in calls]
    return circles.links(lines)


class Circles(unittest.TestCase):
    def test_a_tree_has_none(self):
        tree = graph(("main", "a"), ("main", "b"), ("a", "c"), ("b", "c"), ("c", "d"))
        self.assertEqual(list(circles.complaints(tree)), [])

    def test_two_that_call_each_other(self):
        found = list(circles.complaints(graph(("main", "a"), ("a", "b"), ("b", "a"))))
        self.assertEqual(found, ["a.o needs b of b.o, which needs a.o in turn",
                                 "b.o needs a of a.o, which needs b.o in turn"])

    def test_a_long_way_round(self):
        ring = graph(("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("d", "e"))
        self.assertEqual(len(list(circles.complaints(ring))), 4)

    def test_a_file_may_call_itself(self):
        self.assertEqual(list(circles.complaints(graph(("a", "a"), ("a", "b")))), [])


if __name__ == "__main__":
    unittest.main()
