#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_agent_page.py - docs/tachbpf-agent.8 has all options of tachbpf-agent, as its --help has them."""
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
AGENT = Path(__file__).resolve().parents[3] / "tachbpf-agent"
PAGE = Path("docs/tachbpf-agent.8").resolve()
sys.path.insert(0, str(Path("tools").resolve()))

import agent_options  # noqa: E402


class Page(unittest.TestCase):
    def setUp(self):
        self.help = subprocess.run([AGENT, "--help"], check=True, capture_output=True, text=True).stdout

    def test_the_page_has_all_options(self):
        """If this fails: python3 tools/agent_options.py build/tachbpf-agent docs/tachbpf-agent.8"""
        page = PAGE.read_text()
        self.assertEqual(page, agent_options.put(page, agent_options.mdoc(self.help)), self.__doc__)

    def test_none_is_overlooked(self):
        flags = set(re.findall(r"^ +(?:-\w, )?(--[a-z][a-z-]*)", self.help, re.M))
        self.assertGreater(len(flags), 60)
        self.assertEqual({"-" + f for f in re.findall(r"^\.It .*Fl (-[a-z-]+)", PAGE.read_text(), re.M)}, flags)

    def test_what_the_formatter_could_take_for_its_own(self):
        said = agent_options.mdoc("X:\n  -h, --help                  .so; 'x' a\\b\n")
        self.assertEqual(said, ".Ss X\n.Bl -tag -width Ds\n.It Fl h , Fl -help\n\\&.so;\n\\&'x' a\\eb.\n.El\n")

    def test_mandoc_has_nothing_to_say(self):
        if not shutil.which("mandoc"):
            self.skipTest("mandoc is not installed (make check-deps)")
        done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", PAGE], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
