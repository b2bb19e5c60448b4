#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_planted.py - the bugs of tests/planted can still be planted: each patch fits the tree."""
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True


class Planted(unittest.TestCase):
    def test_each_patch_fits(self):
        if not shutil.which("git"):
            self.skipTest("git is not installed")
        patches = sorted(Path("tests/planted").glob("*.patch"))
        self.assertTrue(patches)
        for patch in patches:
            done = subprocess.run(["git", "apply", "--check", str(patch)], text=True,
                                  capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), patch.name)


if __name__ == "__main__":
    unittest.main()
