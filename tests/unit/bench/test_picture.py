#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_picture.py - tests/bench/picture.py draws each figure, the same ones in the same way."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path("tests/bench").resolve()))

import picture  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
NS = {"3.9": (2800, 23000, 46000), "3.11": (2500, 18000, 35000), "3.12": (1300, 2300, 5600),
      "3.13": (1100, 2100, 3100), "3.15": (1200, 2200, 3300)}
TOOLS = (("tachbpf", "system-3.11", 1.04), ("py-spy", "system-3.11", 61.6),
         ("austin", "system-3.11", 7.3), ("tachbpf", "sid-3.15", 0.4),
         ("CPython 3.15 profiling.sampling", "sid-3.15", 12.96))

COLD_TOOLS = (("tachbpf", 0.2), ("tachbpf --native", 0.3), ("OpenTelemetry's profiler", 0.8))


def figures():
    rows = [{"interpreter": f"some-{version}", "version": version, "functions": functions,
             "depth": depth, "ns": ns if functions == "distinct" else 7, "median_ns": ns,
             "user_us": 0.2}
            for version, all_ns in NS.items() for depth, ns in zip((5, 60, 120), all_ns)
            for functions in ("distinct", "recursion")]
    return {"date": "2026-11-25", "machine": "a <CPU> & 2 CPUs", "rate_hz": 10000,
            "tool_rate_hz": 999, "rounds": 2, "kernel": rows,
            "tools": [{"tool": t, "interpreter": i, "percent": p} for t, i, p in TOOLS]}


def cold_figures():
    """Of bench_cold.py; 3.15 is in the same group as 3.13, and what does not walk is not drawn."""
    rows = [{"python": python, "depth": depth, "mib": mib, "rate": rate,
             "programs": [{"ns": round(ns * 100 / rate) if mib else 7}]}
            for python, ns in (("3.9", 20000), ("3.11", 18000), ("3.13", 12000), ("3.15", 11))
            for depth in (20, 80) for mib in (64, 0) for rate in (19, 99, 999)]
    tools = [{"tool": name, "rate": rate, "kernel": percent * rate / 99, "user": 0.1}
             for name, percent in COLD_TOOLS for rate in (19, 99)]
    return {"date": "2026-11-25", "machine": "a <CPU> & 2 CPUs", "samples": rows, "tools": tools}


def draw(warm, cold=None):
    return picture.draw(warm, cold or cold_figures())


def words(drawn):
    return [node.text for node in ElementTree.fromstring(drawn).iter(f"{SVG}text")]


def titles(drawn):
    return [node.text for node in ElementTree.fromstring(drawn).iter(f"{SVG}title")]


class Picture(unittest.TestCase):
    def test_the_same_figures_give_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as top:
            warm, cold = Path(top) / "warm.json", Path(top) / "cold.json"
            made = [Path(top) / "a.svg", Path(top) / "b.svg"]
            warm.write_text(json.dumps(figures()))
            cold.write_text(json.dumps(cold_figures()))
            for path in made:
                subprocess.run([sys.executable, "-B", "tests/bench/picture.py", warm, cold, path],
                               check=True)
            self.assertEqual(made[0].read_bytes(), made[1].read_bytes())
            self.assertEqual(made[0].read_text(encoding="utf-8"), draw(figures()))

    def test_it_is_not_drawn_from_half_of_the_figures(self):
        with tempfile.TemporaryDirectory() as top:
            warm, made = Path(top) / "warm.json", Path(top) / "a.svg"
            warm.write_text(json.dumps(figures()))
            done = subprocess.run([sys.executable, "-B", "tests/bench/picture.py", warm,
                                   Path(top) / "cold.json", made],
                                  check=True, capture_output=True, text=True)
            self.assertIn("make bench-cold", done.stdout)
            self.assertFalse(made.exists())

    def test_it_begins_with_cold_samples_by_rate(self):
        drawn = draw(figures())
        for said in ("CPython 3.9, 19 Hz: 105,263 ns", "CPython 3.13, 99 Hz: 12,121 ns"):
            self.assertIn(said, titles(drawn))
        self.assertFalse([t for t in titles(drawn) if t.startswith("CPython 3.15,")])
        said = words(drawn)
        self.assertLess(said.index("CPython 3.13"), said.index("CPython 3.13 to 3.15"))
        for percent in ("0.30 %", "0.40 %", "0.90 %"):
            self.assertIn(percent, said)

    def test_it_is_xml_whatever_the_machine_is_called(self):
        self.assertIn("2026-11-25, a <CPU> & 2 CPUs", words(draw(figures())))

    def test_each_group_of_versions_is_a_line_with_all_its_depths(self):
        drawn = draw(figures())
        for name, _ in picture.GROUPS:
            self.assertIn(f"CPython {name}", words(drawn))
        # title of the picture, and one of each point; of those of the cold samples three groups' three
        self.assertEqual(len(titles(drawn)), 1 + len(picture.GROUPS) * 3 + 3 * 3)
        self.assertIn("CPython 3.11, 120 frames: 35,000 ns", titles(drawn))
        # two builds: the median; recursion is not drawn
        self.assertIn("CPython 3.13 to 3.15, 5 frames: 1,150 ns", titles(drawn))

    def test_points_are_where_the_scale_says(self):
        drawn = ElementTree.fromstring(draw(figures()))
        lines = [[tuple(map(float, p.split(","))) for p in node.get("points").split()]
                 for node in drawn.iter(f"{SVG}polyline")]
        old = lines[5]          # after three of cold samples, the aim, and its sign in the legend
        self.assertEqual(len(old), 3)
        x, y = zip(*old)
        self.assertTrue(picture.LEFT[0] < x[0] < x[1] < x[2] < picture.LEFT[1])
        self.assertTrue(picture.BOTTOM > y[0] > y[1] > y[2] >= picture.TOP)
        # logarithmic: from 23,000 to 46,000 as far as from 2,800 to 5,600
        scale = picture.Scale(1000, 50000, picture.BOTTOM, picture.TOP, log=True)
        self.assertAlmostEqual(y[1] - y[2], scale(2800) - scale(5600), delta=0.2)

    def test_each_profiler_is_a_bar_with_its_figure(self):
        drawn = draw(figures())
        bars = [float(r.get("width")) for r in ElementTree.fromstring(drawn).iter(f"{SVG}rect")
                if r.get("class") is None]
        cold, bars = bars[:len(COLD_TOOLS)], bars[len(COLD_TOOLS):]
        self.assertEqual(len(bars), len(TOOLS))
        self.assertEqual(cold, sorted(cold))
        self.assertEqual(sorted(range(len(TOOLS)), key=lambda i: bars[i]),
                         sorted(range(len(TOOLS)), key=lambda i: TOOLS[i][2]))
        for said in ("1.0 %", "62 %", "7.3 %", "0.40 %", "13.0 %", "py-spy", "austin",
                     "profiling.sampling on 3.15"):
            self.assertIn(said, words(drawn))

    def test_half_of_the_figures_is_half_a_picture(self):
        for part in ("kernel", "tools"):
            said = figures()
            del said[part]
            self.assertTrue(words(draw(said)))
        for part in ("samples", "tools"):
            said = cold_figures()
            del said[part]
            self.assertTrue(words(draw(figures(), said)))

    def test_the_one_in_docs_is_a_picture_of_this_kind(self):
        said = words(Path("docs/overhead.svg").read_text(encoding="utf-8"))
        for name, _ in picture.GROUPS:
            self.assertIn(f"CPython {name}", said)
        self.assertIn("tachbpf", said)
        self.assertIn("Cold, in the kernel: ns a sample", said)


if __name__ == "__main__":
    unittest.main()
