#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_budget_figures.py - the budget's arithmetic, on rounds that are made up; and budget.json."""
import json
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path("tests/bench").resolve()))

import budget_figures as budget  # noqa: E402

FRAME = "walk, CPython 3.11: a frame"
REST = "walk, CPython 3.11: a sample without its frames"


def a_round(slower=1.0, machine=1.0, frame=300, rest=1000, ring=16):
    """Of a machine with steps of 60 ns; slower: other work makes all of it slower."""
    return {"reads": {"step": 60 * machine * slower, "cold": 300 * machine * slower},
            "walks": {"3.11": {depth: {"ns": (rest + int(depth) * frame) * machine * slower,
                                       "ring": 40 + int(depth) * ring}
                               for depth in (budget.LOW, budget.HIGH)}},
            "cold": {"3.11": 50 * 300 * machine * slower}, "file": 12.5}


def rounds(**how):
    return [a_round(slower, **how) for slower in (1.3, 1.0, 1.07, 2.0)]


class Figures(unittest.TestCase):
    def test_a_frame_is_the_slope_and_the_rest_is_what_remains(self):
        found = budget.figures(rounds())
        self.assertAlmostEqual(found[FRAME].value, 300 / 60)
        self.assertAlmostEqual(found[REST].value, 1000 / 60)
        self.assertEqual(found["ring buffer, CPython 3.11: a sample of 120 frames"].value, 1960)
        self.assertAlmostEqual(budget.in_units(rounds(), "cold", "cold reads")[FRAME].value, 1)

    def test_another_machine_and_other_work_change_nothing(self):
        here, there = budget.figures(rounds()), budget.figures(rounds(machine=2.6))
        busy = budget.figures([a_round(s) for s in (1.0, 4.0, 3.0)])
        for name, figure in here.items():
            self.assertAlmostEqual(figure.value, there[name].value)
            self.assertAlmostEqual(figure.value, busy[name].value)

    def test_a_margin_is_twice_the_range_of_the_halves(self):
        steady = [a_round()] * 4
        self.assertEqual(budget.margins(steady)[FRAME], budget.LEAST_MARGIN["steps"])
        # the halves without a fast first round have 10 % more a frame; steps are the same
        mixed = [a_round()] + [a_round(frame=330)] * 3
        self.assertAlmostEqual(budget.margins(mixed)[FRAME], 1.2)
        wild = [a_round()] + [a_round(frame=600)] * 3
        self.assertEqual(budget.margins(wild)[FRAME], budget.MOST_MARGIN)

    def test_what_is_recorded_passes(self):
        self.assertEqual(budget.judge(budget.figures(rounds()), budget.record(rounds())), [])

    def test_each_step_more_is_found_and_said(self):
        said = budget.judge(budget.figures(rounds(frame=360)), budget.record(rounds()))
        self.assertEqual(len(said), 1, said)
        self.assertTrue(said[0].startswith(
            f"{FRAME}: 6 steps, recorded 5: 20 % more, 10 % are allowed"), said[0])
        self.assertIn("make budget", said[0])
        said = budget.judge(budget.figures(rounds(rest=1200)), budget.record(rounds()))
        self.assertEqual(len(said), 1, said)
        self.assertTrue(said[0].startswith(f"{REST}: 20 steps"), said[0])

    def test_a_machine_that_changes_is_allowed_its_own_margin(self):
        # a frame takes 20 % more in the fastest round; the range of the halves allows 30 %
        changing = [a_round(frame=360)] + [a_round(frame=414)] * 3
        found, noise = budget.figures(changing), budget.margins(changing)
        self.assertAlmostEqual(noise[FRAME], 1.3)
        self.assertEqual(budget.judge(found, budget.record(rounds()), noise), [])
        said = budget.judge(budget.figures(rounds(frame=480)), budget.record(rounds()), noise)
        self.assertEqual(len(said), 1, said)
        self.assertIn("60 % more", said[0])

    def test_bytes_more_a_frame_are_found(self):
        said = budget.judge(budget.figures(rounds(ring=18)), budget.record(rounds()))
        self.assertEqual(len(said), 2, said)      # at both depths
        self.assertIn("bytes", said[0])

    def test_what_is_not_recorded_is_said(self):
        recorded = budget.record(rounds())
        del recorded[FRAME]
        self.assertEqual(budget.judge(budget.figures(rounds()), recorded),
                         [f"{FRAME}: is not recorded"])

    def test_instructions(self):
        was = {"-a": {"on_cpu_tick": 1000, "on_exec": 100}}
        fits = {"-a": {"on_cpu_tick": 1200, "on_exec": 90}}
        self.assertEqual(budget.judge_instructions(fits, was), [])
        more = budget.judge_instructions({"-a": {"on_cpu_tick": 1201}, "-p": {"on_exit": 1}}, was)
        self.assertEqual(len(more), 2)
        self.assertIn("verifier, -a: on_cpu_tick: 1201 instructions, recorded 1000", more[0])
        self.assertEqual(more[1], "verifier, -p: on_exit: is not recorded")


class ColdFigures(unittest.TestCase):
    def test_a_cold_sample_is_counted_in_cold_reads(self):
        for how in ({}, {"machine": 2.6}):
            figure, = budget.cold_figures(rounds(**how)).values()
            self.assertAlmostEqual(figure.value, 50)
            self.assertEqual(figure.unit, "cold reads")

    def test_each_cold_read_more_is_found_and_said(self):
        more = [dict(r, cold={"3.11": 1.3 * r["cold"]["3.11"]}) for r in rounds()]
        recorded = budget.record(rounds(), budget.cold_figures)
        said = budget.judge(budget.cold_figures(more), recorded)
        self.assertEqual(len(said), 1, said)
        self.assertIn("65 cold reads, recorded 50: 30 % more, 20 % are allowed", said[0])
        self.assertEqual(budget.judge(budget.cold_figures(rounds()), recorded), [])


class Recorded(unittest.TestCase):
    def test_the_file_has_all_figures(self):
        recorded = json.loads(Path("tests/bench/budget.json").read_text(encoding="utf-8"))
        for minor in ("3.9", "3.11", "3.13"):
            one = dict(a_round(), walks={minor: a_round()["walks"]["3.11"]})
            for name in budget.figures([one]):
                figure = recorded["figures"][name]
                self.assertGreater(figure["value"], 0, name)
                self.assertGreaterEqual(figure["margin"], budget.LEAST_MARGIN[figure["unit"]], name)
                self.assertLessEqual(figure["margin"], budget.MOST_MARGIN, name)
        for figures in recorded["cold"].values():
            self.assertEqual(len(figures), 2)
        self.assertTrue(recorded["cold"] and recorded["instructions"])


if __name__ == "__main__":
    unittest.main()
