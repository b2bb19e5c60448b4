#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_check.py - what tests/check.py says in its last line, and that it refuses tests that wait by the clock."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path("tests").resolve()))

import check  # noqa: E402
import tally  # noqa: E402

# Planted: two tests that wait by the clock, the second one for too long.
IN_PYTHON = """
import time
def test_short(): time.sleep(1.5)
def test_long(): time.sleep(1.1); time.sleep(1.1)
def test_steps():
    for _ in range(22): time.sleep(0.1)
"""
IN_C = """
#include <unistd.h>
int main(void) { usleep(1100000); usleep(1100000); return 0; }
"""
WRAP = "-Wl,--wrap=usleep,--wrap=sleep,--wrap=nanosleep"


def last_line(*said):
    """Of a run of one tier that has said this."""
    tier = check.Tier("distros", ("check-distros",), gate=True)
    for line in said:
        check.hear(tier, line)
    done = SimpleNamespace(tiers=[tier], stopped="",
                           total=lambda kind: sum(t.said[kind] for t in [tier]))
    return list(check.summary(done, 1))[-1]


class LastLine(unittest.TestCase):
    def test_counts(self):
        self.assertEqual(last_line({"passed": 2, "skipped": 1}, {"passed": 3}),
                         "5 passed, 0 failed, 1 skipped")

    def test_a_system_that_could_not_be_had_is_named(self):
        self.assertEqual(last_line({"passed": 4, "skipped": 2}, {"absent": ["debian-13"]}),
                         "4 passed, 0 failed, 2 skipped; could not be had: debian-13")

    def test_a_test_that_slept_too_long_has_failed(self):
        self.assertEqual(last_line({"passed": 3}, {"slept": 2.0, "test": "short"}, {"slept": 2.5, "test": "long"}),
                         "2 passed, 1 failed, 0 skipped")

    def test_every_tier_with_tests_of_the_gate_says_so(self):
        tiers = [t for stage in check.check_plan() for lane in stage for t in lane if t.counts]
        self.assertEqual([t.name for t in tiers if not t.gate], [])


class Planted(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.top = Path(scratch.name)
        self.env = {**os.environ, "TACHBPF_TALLY": str(self.top / "tally"), "PYTHONPATH": "tests/e2e/lib",
                    "TACHBPF_FAILED": str(self.top), "PYTHONDONTWRITEBYTECODE": "1"}

    def said(self):
        """What a tier of make check makes of the tally."""
        tier = check.Tier("planted", (), gate=True)
        for line in tally.read(self.top / "tally"):
            check.hear(tier, line)
        return tier.said["passed"], tier.said["failed"]

    def test_a_test_in_python(self):
        (self.top / "test_planted.py").write_text(IN_PYTHON)
        subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "gate", "-p", "counting",
                        self.top / "test_planted.py"], env=self.env, check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(self.said(), (2, 1))

    @unittest.skipUnless(shutil.which("gcc"), "there is no gcc")
    def test_a_program_in_c(self):
        source, obj = self.top / "test_planted.c", self.top / "test_planted.o"
        source.write_text(IN_C)
        for argv in (["gcc", "-c", source, "-o", obj], ["objcopy", "--redefine-sym", "main=test_planted_main", obj],
                     ["gcc", "-D_GNU_SOURCE", "-DTESTS(X)=X(test_planted)", WRAP, "tests/room_main.c", obj,
                      "-o", self.top / "tests"]):
            subprocess.run(argv, check=True)
        subprocess.run([sys.executable, "tests/programs.py", "unit", f"{self.top / 'tests'} test_planted"], env=self.env,
                       check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(self.said(), (0, 1))

    def test_a_program_in_python(self):
        program = self.top / "test_planted.py"
        program.write_text("import time\ntime.sleep(1.1); time.sleep(1.1)\n")
        subprocess.run([sys.executable, "tests/programs.py", "unit", str(program)], env=self.env, check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(self.said(), (0, 1))


if __name__ == "__main__":
    unittest.main()
