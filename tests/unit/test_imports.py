#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_imports.py - tests/imports.py finds a test that imports another test."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import imports  # noqa: E402


class Planted(unittest.TestCase):
    def found(self, line, name="tests/e2e/files/test_planted.py"):
        """What is found in a tree whose only file has this line."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / name
            path.parent.mkdir(parents=True)
            path.write_text(f'"""A test."""\n{line}\n')
            return list(imports.complaints(directory))

    def test_what_is_shared_may_be_imported(self):
        for line in ("import json", "from command import good, run", "import noise as n",
                     "from interp.builds import BUILDS", "TEXT = 'from test_html import show'"):
            self.assertEqual(self.found(line), [])

    def test_another_test_may_not(self):
        for line in ("import test_html", "from test_html import show", "import json, test_html",
                     "def f(): from test_html import show", "from files.test_html import show",
                     "from . import test_html", "import files.test_html as pages"):
            self.assertEqual(self.found(line)[0], "tests/e2e/files/test_planted.py:2: "
                                                  "imports test_html, which is a test")

    def test_nor_by_what_is_shared_nor_a_conftest(self):
        self.assertEqual(self.found("from test_html import show", "tests/e2e/lib/pages.py"),
                         ["tests/e2e/lib/pages.py:2: imports test_html, which is a test"])
        self.assertEqual(self.found("from conftest import show"),
                         ["tests/e2e/files/test_planted.py:2: imports conftest, which is a test"])


if __name__ == "__main__":
    unittest.main()
