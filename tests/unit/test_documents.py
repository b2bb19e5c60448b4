#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_documents.py - tests/documents.py finds names of files, functions and tests that are not
there, tests that are named where none should be, and what is too long."""
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
            for path, content in (("user/base/util.c", "int util_find(void)"), (name, text),
                                  ("tests/unit/base/test_util.c", "static void test_varints(")):
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                (tree / path).write_text(content + "\n")
            return list(documents.complaints(tree))

    def test_what_is_there(self):
        for text in ("`user/base/util.c`", "user/base/.", "user/*/NAME.c", "../user/none.c",
                     "tests are fast", "`none()`"):
            self.assertEqual(self.found(text), [])
        for text in ("(tests/unit/ROOM/test_*.c)", "test_util.c", "`test_util`, test_varints",
                     "test_NAME"):
            self.assertEqual(self.found(text, "CONTRIBUTING.md"), [])

    def test_a_file_that_is_not(self):
        self.assertEqual(self.found("\nsee `user/base/none.c`."),
                         ["docs/planted.md:2: there is no user/base/none.c"])
        self.assertEqual(len(self.found("docs/none.md", "CONTRIBUTING.md")), 1)
        self.assertEqual(len(self.found("tests/none/", "user/base/README.md")), 1)

    def test_a_test_that_is_not(self):
        self.assertEqual(self.found("`test_util`, `test_none`", "CONTRIBUTING.md"),
                         ["CONTRIBUTING.md:1: no test is called test_none"])

    def test_a_test_where_none_is_named(self):
        self.assertEqual(self.found("`test_util`"),
                         ["docs/planted.md:1: names test_util: tests are named in tests/shown.md"])
        self.assertEqual(len(self.found("`tests/unit/base/test_util.c`")), 1)
        self.assertEqual(len(self.found("test_none", "README.md")), 1)
        self.assertEqual(self.found("`build/tests/unit/ROOM/test_NAME`"), [])
        self.assertEqual(self.found("<!-- made by test_util -->"), [])

    def test_a_bug_that_cannot_be_planted(self):
        patch = ("--- a/user/base/util.c\n+++ b/user/base/util.c\n@@ -1 +1 @@\n-int %s(void)\n+long %s(void)\n")
        name = "tests/planted/bug.patch"
        self.assertEqual(self.found(patch.replace("%s", "util_find"), name), [])
        self.assertRegex("".join(self.found(patch.replace("%s", "util_was"), name)),
                         "^tests/planted/bug.patch:1: it does not apply: ")

    def test_a_row_of_shown(self):
        shown = "| claim | tests |\n| --- | --- |\n| numbers | %s |"
        for row in ("`test_varints`", "`test_util`: `a`, `b`", "`test_util`, `test_varints` (unit)"):
            self.assertEqual(self.found(shown % row, "tests/shown.md"), [])
        self.assertEqual(self.found(shown % "by hand", "tests/shown.md"),
                         ["tests/shown.md:3: the row names no test"])
        for row in ("`test_util`, `test_vari`", "`fuzz_none`"):     # how a name begins is not enough
            found = self.found(shown % row, "tests/shown.md")
            self.assertEqual(len(found), 1)
            self.assertIn("no test is called", found[0])

    def test_a_function_that_is_not(self):
        self.assertEqual(self.found("`util_find()`", "docs/design.md"), [])
        self.assertEqual(self.found("`util_none()`", "docs/design.md"),
                         ["docs/design.md:1: there is no util_none()"])
        self.assertEqual(len(self.found("`util_none()`", "user/base/README.md")), 1)
        self.assertEqual(self.found("`util_none()`"), [])      # pages on other subjects name others'

    def test_a_message_that_names_a_page(self):
        for text, cnt in (('log("see docs/files.md");', 1), ('/* docs/files.md */', 0), ('log("see tachbpf(1)");', 0)):
            self.assertEqual(len(self.found(text, "user/base/say.c")), cnt, text)

    def test_links(self):
        for text in ("[a](planted.md) [b](../user/base/util.c)", "# A `--word`: x\n[c](#a---word-x)", "`[d](none.md)`",
                     "```\n[e](none.md)\n```", "[f](https://example.org/none.md)"):
            self.assertEqual(self.found(text), [], text)
        self.assertEqual(self.found("[a](none.md)"), ["docs/planted.md:1: there is no none.md that it links to"])
        self.assertEqual(self.found("# One\n[a](planted.md#two)"), ["docs/planted.md:1: planted.md has no heading #two"])

    def test_a_page_that_the_index_lacks(self):
        with tempfile.TemporaryDirectory() as directory:
            docs = Path(directory) / "docs"
            docs.mkdir()
            for name, text in (("README.md", "[x](one.md#part)"), ("one.md", "# Part"), ("two.md", "")):
                (docs / name).write_text(text)
            self.assertEqual(list(documents.complaints(directory)), ["docs/README.md:1: it does not link to two.md"])

    def test_a_long_design(self):
        self.assertEqual(self.found("word " * 2500, "docs/design.md"), [])
        self.assertEqual(self.found("word " * 2501, "docs/design.md"),
                         ["docs/design.md:1: 2501 words, at most 2500 are allowed"])
        self.assertEqual(self.found("word " * 2501), [])

    def test_a_long_line_of_readme(self):
        self.assertEqual(self.found("short\n" + "\u00e4" * 120, "README.md"), [])
        self.assertEqual(self.found("short\n" + "x" * 121, "README.md"),
                         ["README.md:2: 121 columns, at most 120 are allowed"])
        self.assertEqual(self.found("x" * 121), [])     # only README.md has the limit


if __name__ == "__main__":
    unittest.main()
