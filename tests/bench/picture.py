#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""picture.py FIGURES.json PICTURE.svg: draws docs/overhead.svg from what bench.py --json wrote.

Left: ns a sample in the kernel by depth, a line for each group of versions. Right: CPU % of whole
profilers on one process. Both scales are logarithmic. The same figures give the same bytes.
"""
import json
import math
import statistics
import sys
from pathlib import Path
from xml.sax.saxutils import escape

# Versions that keep frames and code objects in the same way share a line.
GROUPS = (("3.6 to 3.10", ("3.6", "3.7", "3.8", "3.9", "3.10")), ("3.11", ("3.11",)),
          ("3.12", ("3.12",)), ("3.13 to 3.15", ("3.13", "3.14", "3.15")))
# Okabe and Ito's colours, which colour-blind readers can tell apart; each with a mark of its own.
COLOURS = ("#d55e00", "#e69f00", "#0072b2", "#009e73")
MARKS = ("circle", "square", "diamond", "triangle")
OURS, OTHERS = "#0072b2", "#999999"
AIM = "aim: 1,000 + 20 a frame"
WIDTH, HEIGHT, TOP, BOTTOM = 980, 470, 96, 372
LEFT = (76, 470)            # x of the left panel's plot
RIGHT = (716, 916)          # ... of the right one's
# The page's own colours follow the reader's; without a style sheet it is dark on white.
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #24292f }
.page { fill: #ffffff; stroke: #d0d7de } .grid { stroke: #d0d7de } .axis { stroke: #57606a }
.title { font-size: 17px; font-weight: 600 } .head { font-weight: 600 } .small { font-size: 11.5px }
@media (prefers-color-scheme: dark) {
 text { fill: #e6edf3 } .page { fill: #0d1117; stroke: #30363d }
 .grid { stroke: #30363d } .axis { stroke: #9198a1 }
}"""


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


def text(x, y, words, **attributes):
    said = "".join(f' {name.rstrip("_").replace("_", "-")}="{value}"'
                   for name, value in attributes.items())
    return f'<text x="{number(x)}" y="{number(y)}"{said}>{escape(words)}</text>'


def line(x1, y1, x2, y2, kind):
    return (f'<line class="{kind}" x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" '
            f'y2="{number(y2)}"/>')


class Scale:
    """Values to places, linear or logarithmic."""

    def __init__(self, low, high, begin, end, log=False):
        self.of = math.log10 if log else float
        self.low, self.begin = self.of(low), begin
        self.unit = (end - begin) / (self.of(high) - self.low)

    def __call__(self, value):
        return self.begin + (self.of(value) - self.low) * self.unit


def around(values, steps=(1, 2, 5)):
    """The marks of a logarithmic axis: from the last one below all values to the first above."""
    marks = [s * 10 ** e for e in range(-3, 9) for s in steps]
    low = max(m for m in marks if m <= min(values))
    high = min(m for m in marks if m >= max(values))
    return [m for m in marks if low <= m <= high]


def series(rows):
    """name -> [(depth, ns)] of the groups that were measured: the median of a group's builds."""
    found = {}
    for name, versions in GROUPS:
        mine = [r for r in rows if r["version"] in versions and r["functions"] == "distinct"]
        if mine:
            found[f"CPython {name}"] = [
                (depth, statistics.median(r["ns"] for r in mine if r["depth"] == depth))
                for depth in sorted({r["depth"] for r in mine})]
    return found


def mark(shape, x, y, colour):
    """A point's sign."""
    if shape == "circle":
        return f'<circle cx="{number(x)}" cy="{number(y)}" r="4" fill="{colour}"/>'
    corners = {"square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
               "diamond": ((0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)),
               "triangle": ((0, -5.5), (5, 4), (-5, 4))}[shape]
    points = " ".join(f"{number(x + dx)},{number(y + dy)}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'


def curve(points, colour, dashes=""):
    places = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'


def left_axes(depths, marks, across, up):
    yield text(LEFT[0] - 50, TOP - 18, "In the kernel: ns a sample", class_="head")
    for m in marks:
        yield line(LEFT[0], up(m), LEFT[1], up(m), "grid")
        yield text(LEFT[0] - 8, up(m) + 4, f"{m:,}", text_anchor="end")
    for d in depths:
        yield text(across(d), BOTTOM + 20, str(d), text_anchor="middle")
    yield line(LEFT[0], BOTTOM, LEFT[1], BOTTOM, "axis")
    yield text(sum(LEFT) / 2, BOTTOM + 40, "frames in the stack, each another function",
               text_anchor="middle")


def entry(at, name):
    """The place of a line's sign in the legend, beside the left panel; its name is put there."""
    x, y = LEFT[1] + 14, TOP + 10 + 20 * at
    return x, y, text(x + 12, y + 4, name, class_="small")


def left_panel(rows):
    """Lines and their legend."""
    found = series(rows)
    depths = sorted({d for points in found.values() for d, _ in points})
    aim = [(d, 1000 + 20 * d) for d in depths]
    marks = around([ns for points in [*found.values(), aim] for _, ns in points])
    across = Scale(0, max(depths), LEFT[0], LEFT[1] - 10)
    up = Scale(marks[0], marks[-1], BOTTOM, TOP, log=True)
    yield from left_axes(depths, marks, across, up)
    yield curve([(across(d), up(ns)) for d, ns in aim], OTHERS, "5 4")
    x, y, words = entry(len(found), AIM)
    yield from (curve([(x - 6, y), (x + 7, y)], OTHERS, "5 4"), words)
    for at, (name, points) in enumerate(found.items()):
        x, y, words = entry(at, name)
        yield from (mark(MARKS[at], x, y, COLOURS[at]), words)
        yield curve([(across(d), up(ns)) for d, ns in points], COLOURS[at])
        for d, ns in points:
            yield (f"<g><title>{escape(name)}, {d} frames: {ns:,.0f} ns</title>"
                   f"{mark(MARKS[at], across(d), up(ns), COLOURS[at])}</g>")


def bar(row, y, height, across):
    """One profiler: its name before the axis, its figure behind the bar."""
    colour = OURS if row["tool"] == "tachbpf" else OTHERS
    percent, end = row["percent"], max(across(row["percent"]), RIGHT[0] + 1)
    words = row["tool"].split(" ", 2)
    below = " ".join([*words[2:], "on", row["interpreter"].rpartition("-")[2]])
    left = {"text_anchor": "end", "class_": "small"}
    yield (f'<rect x="{RIGHT[0]}" y="{number(y + 6)}" width="{number(end - RIGHT[0])}" '
           f'height="{number(height - 14)}" fill="{colour}"/>')
    yield text(RIGHT[0] - 8, y + height / 2 - 3, " ".join(words[:2]), **left)
    yield text(RIGHT[0] - 8, y + height / 2 + 11, below, **left)
    yield text(end + 6, y + height / 2 + 3, f"{percent:.{1 if percent < 20 else 0}f} %")


def right_panel(rows, rate):
    """A bar for each profiler, ours before its peers."""
    marks = around([r["percent"] for r in rows], steps=(1,))
    across = Scale(marks[0], marks[-1], RIGHT[0], RIGHT[1], log=True)
    yield text(RIGHT[0] - 70, TOP - 18, f"The whole profiler: % of a CPU at {rate} Hz",
               class_="head")
    for m in marks:
        yield line(across(m), TOP, across(m), BOTTOM, "grid")
        yield text(across(m), BOTTOM + 20, f"{m:g} %", text_anchor="middle")
    height = min(44, (BOTTOM - TOP) / len(rows))
    for at, row in enumerate(rows):
        yield from bar(row, TOP + at * height, height, across)
    yield line(RIGHT[0], TOP, RIGHT[0], BOTTOM, "axis")
    yield text(sum(RIGHT) / 2, BOTTOM + 40, "one busy process, 20 frames", text_anchor="middle")


def caption(said):
    """How it was measured."""
    lines = (f"Kernel: by bpf_stats at {said['rate_hz']:,} Hz, the fastest 0.1 s of "
             f"{said['rounds']} rounds: other work on the machine slows the others down.",
             "Profiler and target run before that work (SCHED_FIFO). Whole profiler: CPU time of its "
             "process and, of tachbpf, of its BPF programs. Logarithmic scales.")
    for at, words in enumerate(lines):
        yield text(26, HEIGHT - 32 + 17 * at, words, class_="small")


def draw(said):
    """The SVG of bench.py's figures."""
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'width="{WIDTH}" height="{HEIGHT}" role="img">',
             "<title>What a sample of tachbpf costs</title>", f"<style>\n{STYLE}\n</style>",
             f'<rect class="page" fill="#ffffff" x="0.5" y="0.5" width="{WIDTH - 1}" '
             f'height="{HEIGHT - 1}" rx="6"/>', text(26, 34, "What a sample costs", class_="title"),
             text(26, 54, f"{said['date']}, {said['machine']}", class_="small")]
    if said.get("kernel"):
        parts += left_panel(said["kernel"])
    if said.get("tools"):
        parts += right_panel(said["tools"], said["tool_rate_hz"])
    return "\n".join([*parts, *caption(said), "</svg>"]) + "\n"


def main():
    figures, picture = map(Path, sys.argv[1:])
    picture.write_text(draw(json.loads(figures.read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
