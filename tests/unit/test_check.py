#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_check.py - what tests/check.py says in its last line."""
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path("tests").resolve()))

import check  # noqa: E402


def last_line(*said):
    """Of a run of one tier that has said this."""
    tier = check.Tier("distro", ("check-distros",))
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

    def test_the_plan_has_todays_stable_debian(self):
        tier, = [t for stage in check.check_plan() for lane in stage for t in lane
                 if t.name == "distro"]
        self.assertIn("DISTROS=debian-13", tier.make)


if __name__ == "__main__":
    unittest.main()
