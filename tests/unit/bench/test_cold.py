#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_cold.py - which runs bench_cold.py counts, and its tables in docs/overhead.md."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(p).resolve()) for p in ("tests/bench", "tests/e2e/lib")]

import cold_cost  # noqa: E402
import cold_docs  # noqa: E402
from sample_cost import Counts  # noqa: E402


def window(ns, ticks=1, target=0.01, arrivals=0):
    return Counts(0.01, target, 0, ticks, ns, 0, arrivals)


def program(ns, late=0):
    return {"ns": ns, "low": ns - 100, "high": ns + 100, "samples": 1000, "late": late}


def figures(*programs):
    rows = [{"python": python, "depth": 20, "mib": mib, "rate": rate,
             "programs": [program(ns * rate + mib) for ns in programs]}
            for python in ("3.9", "3.11") for mib in (64, 0) for rate in (19, 999, 10000)]
    rows[1]["programs"][0]["late"] = 7
    tools = [{"tool": tool, "rate": rate, "ns": 1234.5, "kernel": 0.256, "user": 0.1, "rss_mib": 9.6}
             for tool in ("tachbpf", "other") for rate in (19, 99)]
    return {"date": "2026-11-25", "machine": "a CPU", "programs": ["x"] * len(programs),
            "samples": rows, "tools": tools}


class Runs(unittest.TestCase):
    def test_each_run_counts(self):
        found = cold_cost.runs([window(100), window(0, 0), window(300, 3), window(1)])
        self.assertEqual(found, [100, 100, 100, 100])

    def test_what_the_target_may_not_have_had_does_not(self):
        left = window(10, arrivals=1)
        self.assertEqual(cold_cost.runs([window(100), left, window(200), window(1)]), [200])
        self.assertEqual(cold_cost.runs([window(100, target=0), window(200), window(1)]), [200])

    def test_a_rate_that_is_not_listed_has_runs_enough(self):
        self.assertEqual(cold_cost.runs_wanted(20), 36)
        self.assertEqual(cold_cost.runs_wanted(500), 250)
        self.assertEqual(cold_cost.runs_wanted(19), cold_cost.RUNS[19])


class Docs(unittest.TestCase):
    def test_a_table_of_each_kind_of_target(self):
        said = cold_docs.text(figures(10))
        self.assertIn("| | 19 Hz | 999 Hz | 10 kHz |", said)
        self.assertIn("| CPython 3.9, 20 frames | 254 (154 to 354) | 10,100 (9,950 to 10,200) |", said)
        self.assertLess(said.index("walks through 64 MiB"), said.index("counts in a loop"))
        self.assertIn("cut: 0.00 % at 19 Hz, 0.17 % at 999 Hz, 0.00 % at 10 kHz; at most 0.7 % (CPython "
                      "3.9, 20 frames, 999 Hz).", said)
        self.assertIn("| other | 1,230 ns, 0.26 + 0.10 % |", said)

    def test_beside_another_build_it_says_what_that_took(self):
        said = cold_docs.text(figures(10, 20))
        self.assertIn("| CPython 3.11, 20 frames | 444 to 254 (0.57) |", said)
        self.assertIn("999 Hz). In the build before: ", said)

    def test_where_no_stack_was_cut_it_says_so(self):
        said = figures(10)
        for row in said["samples"]:
            row["programs"][0]["late"] = 0
        self.assertIn("Stacks that the time limit cut: none.", cold_docs.text(said))

    def test_it_goes_between_the_marks(self):
        with tempfile.TemporaryDirectory() as top:
            page = Path(top) / "page.md"
            page.write_text(f"before\n\n{cold_docs.BEGIN}old\n{cold_docs.END}\nafter\n")
            for _ in range(2):
                cold_docs.write(page, figures(10))
            said = page.read_text()
            self.assertTrue(said.startswith("before\n\n" + cold_docs.BEGIN + cold_docs.text(figures(10))))
            self.assertTrue(said.endswith(cold_docs.END + "\nafter\n"))
            page.write_text("nothing\n")
            self.assertRaises(SystemExit, cold_docs.write, page, figures(10))

    def test_the_page_has_the_marks(self):
        said = Path("docs/overhead.md").read_text(encoding="utf-8")
        self.assertIn(cold_docs.END, said.partition(cold_docs.BEGIN)[2])


if __name__ == "__main__":
    unittest.main()
