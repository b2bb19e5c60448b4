#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_documents.py - tests/documents.py finds names of files and tests that are not there, and
long lines of README.md."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import documents  # noqa: E402


class Planted(unittest.TestCase):
    def found(self, text, name="docs/planted.md"):
        """What is found in a tree of two files and this document."""
        with tempfile.TemporaryDirectory() as directory:
            tree = Path(directory)
            for path, content in (("user/base/util.c", ""), (name, text),
                                  ("tests/unit/base/test_util.c", "static void test_varints(")):
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                (tree / path).write_text(content + "\n")
            return list(documents.complaints(tree))

    def test_what_is_there(self):
        for text in ("`user/base/util.c`", "user/base/.", "(tests/unit/ROOM/test_*.c)", "test_util.c",
                     "`test_util`, test_varints, test_NAME", "user/*/NAME.c", "../user/none.c",
                     "tests are fast"):
            self.assertEqual(self.found(text), [])

    def test_a_file_that_is_not(self):
        self.assertEqual(self.found("\nsee `user/base/none.c`."),
                         ["docs/planted.md:2: there is no user/base/none.c"])
        self.assertEqual(len(self.found("docs/none.md", "CONTRIBUTING.md")), 1)
        self.assertEqual(len(self.found("tests/none/", "user/base/README.md")), 1)

    def test_a_test_that_is_not(self):
        self.assertEqual(self.found("`test_util`, `test_none`"),
                         ["docs/planted.md:1: no test is called test_none"])

    def test_a_long_line_of_readme(self):
        self.assertEqual(self.found("short\n" + "\u00e4" * 120, "README.md"), [])
        self.assertEqual(self.found("short\n" + "x" * 121, "README.md"),
                         ["README.md:2: 121 columns, at most 120 are allowed"])
        self.assertEqual(self.found("x" * 121), [])     # only README.md has the limit


if __name__ == "__main__":
    unittest.main()
