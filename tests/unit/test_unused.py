#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_unused.py - tests/unused.py finds what no program needs, and nothing else."""
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import unused  # noqa: E402

# As nm -A prints them: an archive with two files, and a program.
LISTED = """\
lib.a:a.o:0000000000000000 T a_used
lib.a:a.o:0000000000000000 T a_own
lib.a:a.o:0000000000000000 t a_local
lib.a:a.o:                 U malloc
lib.a:a.o:                 U b_used
lib.a:b.o:0000000000000000 T b_used
lib.a:b.o:0000000000000000 D b_table
main.o:0000000000000000 T main
main.o:                 U a_used
""".splitlines()


class Unused(unittest.TestCase):
    def test_what_another_file_or_a_program_needs_is_used(self):
        self.assertEqual(unused.complaints(unused.exported(LISTED)),
                         ["a.o: only a.c or tests need a_own",
                          "b.o: only b.c or tests need b_table"])

    def test_exceptions(self):
        symbol = next(name for name in unused.EXCEPTIONS if not name.endswith(".o"))
        self.assertEqual(unused.complaints([("a.o", symbol)]), [])

    def test_inline_functions(self):
        header = "static inline int twice(int a)\n{\n\treturn 2 * a;\n}\n"
        self.assertEqual(unused.unused_inlines({"a.h": header}), ["a.h: nothing needs twice"])
        self.assertEqual(unused.unused_inlines({"a.h": header, "a.c": "return twice(1);"}), [])

    def test_comments_and_texts_are_no_use(self):
        self.assertEqual(unused.NO_CODE.sub("", 'a("x /* y");/* b() */// c()\n'), "a();\n")


if __name__ == "__main__":
    unittest.main()
