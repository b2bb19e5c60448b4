# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a person reads of a test session: the table in the terminal, and pages."""
from __future__ import annotations

import hashlib
import html
import os
import re
import sys
from pathlib import Path

from . import _program
from ._tests import Comparison, Measured

PAGES_MAX = 200     # flame graphs of a session: those of the slowest tests
NAME_MAX = 80       # characters of a test's name in a file's name
NAME_MIN = 8        # columns in which a function's name says something
_STYLE = """body{font:14px system-ui,sans-serif;margin:2em;color-scheme:light dark}td,th{padding:2px 10px;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}code{white-space:nowrap}"""


def seconds(value: float) -> str:
    """A time in at most 8 columns."""
    return f"{value:.2f} s" if value < 100 else f"{value:.0f} s"


def shortened(text: str, width: int) -> str:
    """The text, without its middle if it is too long: a test's file and its name are at the ends."""
    if len(text) <= width:
        return text
    left = (width - 1) // 3
    return text[:left] + "…" + text[len(text) - (width - 1 - left):]


def _short_file(file: str) -> str:
    """A file by its path from this directory, or from where it is imported; of others, the directory and the name."""
    for place in (os.getcwd(), *sorted(sys.path, key=len, reverse=True)):
        base = os.path.join(place, "")
        if place and file.startswith(base):
            return file[len(base):]
    return os.path.join(*Path(file).parts[-2:])


def _place(file: str, line: int, function: str, width: int) -> str:
    """A line in so many columns: its number is always there, the end of the file's path, then the function."""
    place = f"{file}:{line}"
    if len(place) > width:
        return "…" + place[1 - width:]
    left = width - len(place) - 1
    return place if left < NAME_MIN else f"{place} {shortened(function, left)}"


def hottest(measured: Measured, width: int = 1000) -> str:
    """A test's hottest line: its share, place and function."""
    if not measured.place:
        return "no samples of Python code"
    file, line, function = measured.place
    head = f"{100 * measured.place_samples / measured.samples:3.0f} %  "
    return head + _place(_short_file(file), line, function, width - len(head))


def table(tests: list[Measured], limit: int, width: int) -> list[str]:
    """The slowest tests, two lines each. limit: how many; 0: all."""
    order = sorted(tests, key=lambda test: -test.seconds)
    shown = order[:limit] if limit else order
    lines = ["    time  samples  test, and its hottest line"]
    for test in shown:
        lines += [f"{seconds(test.seconds):>8}  {test.samples:7}  {shortened(test.name, width - 19)}",
                  " " * 19 + hottest(test, width - 19)]
    if len(order) > len(shown):
        lines.append(f"{len(order) - len(shown)} more tests: --tachbpf-top=0 lists all")
    return lines


def comparison(found: Comparison, allowed: float, width: int) -> list[str]:
    """What a comparison with a baseline says."""
    allowed_pct = f"{100 * allowed:g} %"
    lines = [f"{growth.percent:+5.0f} % (sampling error {growth.error:.0f} %)  {seconds(growth.before)} -> "
             f"{seconds(growth.after)}  {growth.name}" for growth in found.grown]
    lines = [shortened(line, width) for line in lines]
    head = (f"{len(lines)} over the baseline by more than {allowed_pct} and the sampling error:" if lines else
            f"Nothing is over the baseline by more than {allowed_pct} and the sampling error.")
    tail = [f"Compared: {found.compared} tests; {found.new} have no baseline."]
    if found.unsure:
        tail.append(f"{found.unsure} tests have so few samples that their error is larger than {allowed_pct}: a higher rate, "
                    "or longer tests, would show smaller changes.")
    return [head, *lines, *tail]


# ---- pages ----


def page_name(test: str) -> str:
    """A file name for a test's page: readable, and another one for each test."""
    digest = hashlib.sha256(test.encode(errors="surrogatepass")).hexdigest()[:8]
    return re.sub(r"[^\w.-]+", "-", test, flags=re.ASCII)[-NAME_MAX:].strip("-.") + f"-{digest}.html"


def _row(test: Measured, page: str) -> str:
    name = html.escape(test.name)
    if page:
        name = f'<a href="{html.escape(page)}">{name}</a>'
    return (f'<tr><td class="n">{seconds(test.seconds)}</td><td class="n">{test.samples}</td><td>{name}</td>'
            f"<td><code>{html.escape(hottest(test))}</code></td></tr>")


def write_pages(tests: list[Measured], directory: Path) -> int:
    """Writes index.html and a flame graph for each of the slowest tests that has samples. Returns how many."""
    directory.mkdir(parents=True, exist_ok=True)
    order = sorted(tests, key=lambda test: -test.seconds)
    rows, made = [], 0
    for test in order:
        page = ""
        if test.samples and made < PAGES_MAX:
            page, made = page_name(test.name), made + 1
            _program.output(["convert", f"--from=@{test.begin_ns / 1e9:.6f}", f"--to=@{test.end_ns / 1e9:.6f}",
                             "-o", str(directory / page), "--", test.recording])
        rows.append(_row(test, page))
    left = sum(test.samples > 0 for test in tests) - made
    note = f"<p>{left} faster tests have no flame graph: {PAGES_MAX} is the limit.</p>" if left else ""
    (directory / "index.html").write_text(
        f'<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>Tests, the slowest first</title><style>{_STYLE}</style>\n'
        f"<h1>Tests, the slowest first</h1>{note}<table><tr><th>time<th>samples<th>test<th>hottest line</tr>\n"
        + "\n".join(rows) + "</table></html>\n", encoding="utf-8")
    return made
