#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""picture.py WARM.json COLD.json PICTURE.svg: draws docs/overhead.svg from what bench.py --json and
bench_cold.py --json wrote; not before there are both.

Above, cold: ns a sample in the kernel by rate, a line for each version, and CPU % of whole profilers
that record everything. Below, warm: ns a sample by depth, a line for each group of versions, and CPU %
of whole profilers on one process. Scales are logarithmic. The same figures give the same bytes.
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
WIDTH, HEIGHT, TOP, BOTTOM = 980, 856, 96, 372
BELOW = 370                 # that the warm panels are below the cold ones
COLD_DEPTH, COLD_RATE = 20, 99
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


def left_axes(head, names, below, marks, across, up):
    """names: of the places on the horizontal axis."""
    yield text(LEFT[0] - 50, TOP - 18, head, class_="head")
    for m in marks:
        yield line(LEFT[0], up(m), LEFT[1], up(m), "grid")
        yield text(LEFT[0] - 8, up(m) + 4, f"{m:,}", text_anchor="end")
    for x, name in names.items():
        yield text(across(x), BOTTOM + 20, name, text_anchor="middle")
    yield line(LEFT[0], BOTTOM, LEFT[1], BOTTOM, "axis")
    yield text(sum(LEFT) / 2, BOTTOM + 40, below, text_anchor="middle")


def entry(at, name):
    """The place of a line's sign in the legend, beside the left panel; its name is put there."""
    x, y = LEFT[1] + 14, TOP + 10 + 20 * at
    return x, y, text(x + 12, y + 4, name, class_="small")


def points_and_legend(found, unit, across, up, at=None):
    """Lines of found: name -> [(x, ns)]. at: which colours they have."""
    for place, (name, points) in enumerate(found.items()):
        shape, colour = ((MARKS, COLOURS)[i][(at or {}).get(name, place)] for i in (0, 1))
        x, y, words = entry(place, name)
        yield from (mark(shape, x, y, colour), words)
        yield curve([(across(d), up(ns)) for d, ns in points], colour)
        for d, ns in points:
            yield (f"<g><title>{escape(name)}, {d:,} {unit}: {ns:,.0f} ns</title>"
                   f"{mark(shape, across(d), up(ns), colour)}</g>")


def warm_panel(rows):
    """Lines and their legend."""
    found = series(rows)
    depths = sorted({d for points in found.values() for d, _ in points})
    aim = [(d, 1000 + 20 * d) for d in depths]
    marks = around([ns for points in [*found.values(), aim] for _, ns in points])
    across = Scale(0, max(depths), LEFT[0], LEFT[1] - 10)
    up = Scale(marks[0], marks[-1], BOTTOM, TOP, log=True)
    yield from left_axes("Warm, in the kernel: ns a sample", {d: str(d) for d in depths},
                         "frames in the stack, each another function", marks, across, up)
    yield curve([(across(d), up(ns)) for d, ns in aim], OTHERS, "5 4")
    x, y, words = entry(len(found), AIM)
    yield from (curve([(x - 6, y), (x + 7, y)], OTHERS, "5 4"), words)
    yield from points_and_legend(found, "frames", across, up)


def cold_series(rows):
    """(name -> [(rate, ns)], name -> group) of a version for each group, while memory is walked through."""
    rows = [r for r in rows if r["depth"] == COLD_DEPTH and r["mib"]]
    found, groups = {}, {}
    for at, (_, versions) in enumerate(GROUPS):
        mine = [r for r in rows if r["python"] in versions]
        mine = [r for r in mine if r["python"] == mine[0]["python"]]
        if mine:
            name = f"CPython {mine[0]['python']}"
            found[name] = sorted((r["rate"], r["programs"][0]["ns"]) for r in mine)
            groups[name] = at
    return found, groups


def cold_panel(rows):
    found, groups = cold_series(rows)
    rates = sorted({rate for points in found.values() for rate, _ in points})
    marks = around([ns for points in found.values() for _, ns in points])
    across = Scale(min(rates), max(rates), LEFT[0] + 20, LEFT[1] - 20, log=True)
    up = Scale(marks[0], marks[-1], BOTTOM, TOP, log=True)
    yield from left_axes("Cold, in the kernel: ns a sample", {r: f"{r:,}" for r in rates},
                         f"samples a second; {COLD_DEPTH} frames, 64 MiB walked through", marks,
                         across, up)
    yield from points_and_legend(found, "Hz", across, up, groups)


def bar(row, y, height, across):
    """One profiler: its name before the axis, its figure behind the bar."""
    colour = OURS if row["tool"].startswith("tachbpf") else OTHERS
    percent, end = row["percent"], max(across(row["percent"]), RIGHT[0] + 1)
    words = row["tool"].split(" ", 2)
    below = " ".join([*words[2:], "on", row["interpreter"].rpartition("-")[2]])
    left = {"text_anchor": "end", "class_": "small"}
    yield (f'<rect x="{RIGHT[0]}" y="{number(y + 6)}" width="{number(end - RIGHT[0])}" '
           f'height="{number(height - 14)}" fill="{colour}"/>')
    yield text(RIGHT[0] - 8, y + height / 2 - 3, " ".join(words[:2]), **left)
    yield text(RIGHT[0] - 8, y + height / 2 + 11, below, **left)
    yield text(end + 6, y + height / 2 + 3, f"{percent:.{2 if percent < 1 else 1 if percent < 20 else 0}f} %")


def right_panel(rows, rate, below):
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
    yield text(sum(RIGHT) / 2, BOTTOM + 40, below, text_anchor="middle")


def cold_bars(tools):
    """Rows as bench.py has them."""
    return [{"tool": t["tool"], "interpreter": "3.11", "percent": t["kernel"] + t["user"]}
            for t in tools if t["rate"] == COLD_RATE]


def caption(warm):
    """How it was measured."""
    lines = ("Cold: by bpf_stats, the median. Warm: "
             f"at {warm['rate_hz']:,} Hz, the fastest 0.1 s of {warm['rounds']} rounds: other work on the "
             "machine slows the others down.",
             "Profiler and target run before that work (SCHED_FIFO). Whole profiler: CPU time of its "
             "process and of its BPF programs (py-spy, austin, CPython: process).")
    for at, words in enumerate(lines):
        yield text(26, HEIGHT - 32 + 17 * at, words, class_="small")


def panels(rows, left, tools, rate, below):
    if rows:
        yield from left(rows)
    if tools:
        yield from right_panel(tools, rate, below)


def draw(warm, cold):
    """The SVG of both benchmarks' figures."""
    measured = " and ".join(dict.fromkeys(f"{said['date']}, {said['machine']}" for said in (cold, warm)))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'width="{WIDTH}" height="{HEIGHT}" role="img">',
             "<title>What a sample of tachbpf costs</title>", f"<style>\n{STYLE}\n</style>",
             f'<rect class="page" fill="#ffffff" x="0.5" y="0.5" width="{WIDTH - 1}" '
             f'height="{HEIGHT - 1}" rx="6"/>', text(26, 34, "What a sample costs", class_="title"),
             text(26, 54, measured, class_="small")]
    parts += panels(cold.get("samples"), cold_panel, cold_bars(cold.get("tools", ())), COLD_RATE,
                    "every process is recorded")
    parts.append(f'<g transform="translate(0 {BELOW})">')
    parts += panels(warm.get("kernel"), warm_panel, warm.get("tools"), warm["tool_rate_hz"],
                    "one busy process, 20 frames")
    return "\n".join([*parts, "</g>", *caption(warm), "</svg>"]) + "\n"


def main():
    *figures, picture = map(Path, sys.argv[1:])
    for path, target in zip(figures, ("bench-picture", "bench-cold")):
        if not path.exists():
            print(f"{picture} is not drawn: {path} is missing (make {target} writes it)")
            return
    picture.write_text(draw(*(json.loads(path.read_text()) for path in figures)), encoding="utf-8")


if __name__ == "__main__":
    main()
