#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_lines.py - tests/lines.py finds lines and files that are too long, and nothing else."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import lines  # noqa: E402


def complaints(**files):
    """Of a tree with these files: path with __ for each slash, without .c -> text."""
    with tempfile.TemporaryDirectory() as tree:
        for name, text in files.items():
            path = Path(tree, name.replace("__", "/") + ".c")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(lines.complaints(tree))


class Lines(unittest.TestCase):
    def test_a_hundred_columns_are_none_too_many(self):
        self.assertEqual(complaints(user__a="x" * 100 + "\n", bpf__b="\t" * 12 + "x" * 4), [])

    def test_a_tab_ends_at_a_multiple_of_8(self):
        self.assertEqual(complaints(user__base__a="\n" + "x" * 95 + "\tyyyyy\n"),
                         ["user/base/a.c:2: 101 columns; at most 100"])

    def test_only_what_is_no_test_has_at_most_600_lines(self):
        found = complaints(bpf__a="\n" * 600, user__b="\n" * 601, tests__unit__c="\n" * 601)
        self.assertEqual(found, ["user/b.c: 601 lines; at most 600"])

    def test_an_exception_is_longer(self):
        for name in lines.LONGER:
            path = Path(__file__).resolve().parents[2] / name
            if path.exists():       # this file may be a copy beside the programs
                self.assertGreater(len(path.read_text().splitlines()), lines.LINES, name)


if __name__ == "__main__":
    unittest.main()
