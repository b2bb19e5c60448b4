# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf diff --format markdown`, read back by a renderer that is not ours."""
from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tachbpf._program import find

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e" / "lib"))
import make_tach            # noqa: E402

markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py, which renders the comment, is not installed")

HOSTILE = [
    "plain", "__init__", "a|b", "a\\|b", "`tick`", "``", "<img src=x onerror=alert(1)>", "</code></td>", "@everyone",
    "#1 !2 [a](javascript:x) ![i](http://x)", "https://example.org/", "**bold** _it_ ~~s~~", "&lt;&#124;", "\\", "a\\",
    "$(id)", "x" * 300, "größe", "new\nline\r\t", "| :-- |\n\n# heading", "`|", " ",
]


def profile(path: Path, counts: dict[str, int]) -> Path:
    writer = make_tach.Writer()
    for name, count in counts.items():
        stack = writer.stack([("/srv/" + name[:40] + ".py", name, 3), ("/srv/app.py", "main", 1)])
        for _ in range(count):
            writer.add(stack)
    writer.write(path)
    return path


def compared(a: Path, b: Path, *more: str) -> str:
    done = subprocess.run([find(), "diff", "--format", "markdown", *more, a, b], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 4) and not done.stderr, done
    return done.stdout


def rendered(text: str) -> str:
    """As a page of CommonMark with tables, where HTML is taken as it is: the most dangerous one."""
    return str(markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


def rows_of(page: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.S)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in rows[1:]]


def test_hostile_names_are_text(tmp_path: Path) -> None:
    a = profile(tmp_path / "a|b.tach", {name: 10 + i for i, name in enumerate(HOSTILE)})
    b = profile(tmp_path / "`b`.tach", {name: 60 - i for i, name in enumerate(HOSTILE)})
    page = rendered(compared(a, b, "--limit", "0"))
    rows = rows_of(page)
    assert {len(row) for row in rows} == {5} and len(rows) >= len(HOSTILE) - 1
    shown = set()
    for name, place, *numbers in rows:
        for cell in (name, place):
            code = re.fullmatch(r"<code>(.*)</code>", cell, re.S)
            assert code and "<" not in code[1], cell
        shown.add(html.unescape(name[len("<code>"):-len("</code>")]))
        assert all(re.fullmatch(r"(<strong>)?[+-]?\d+\.\d\d( %)?(</strong>)?", n) for n in numbers), numbers
    for name in HOSTILE:
        if name.isprintable() and len(name) < 80 and name.strip():
            assert name in shown, (name, shown)
    # Whatever is a tag is ours.
    assert set(re.findall(r"</?([a-z0-9]+)", page)) <= {"p", "ul", "li", "code", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert "http" not in re.sub(r"<code>.*?</code>", "", page)


def test_what_a_reviewer_reads_first(tmp_path: Path) -> None:
    a = profile(tmp_path / "a.tach", {"f": 3000, "g": 7000})
    b = profile(tmp_path / "b.tach", {"f": 4500, "g": 5500})
    page = rendered(compared(a, b))
    first = re.sub(r"<[^>]*>", "", page).splitlines()[0]
    assert re.fullmatch(r"Slower: f, 30\.00 % → 45\.00 % of the CPU time \(\+15\.00 points, sampling error ±\d\.\d\d\)\. "
                        r"Faster: g, 70\.00 % → 55\.00 % of the CPU time \(-15\.00 points, sampling error ±\d\.\d\d\)\.", first)
    assert [row[4] for row in rows_of(page)] == ["<strong>+15.00</strong>", "<strong>-15.00</strong>"]
    assert "10000 samples" in page
    assert "1 function grew by more than 5.00 points" in compared(a, b, "--fail-over", "5")


def test_chance_is_not_news(tmp_path: Path) -> None:
    a = profile(tmp_path / "a.tach", {"f": 6, "g": 14})
    b = profile(tmp_path / "b.tach", {"f": 9, "g": 11})
    text = compared(a, b)
    assert text.startswith("**No function changed by more than the sampling error.** The largest change: `f`, 30.00 % → 45.00 %")
    assert compared(a, a).startswith("**No function changed.**")
    assert "<table" not in rendered(compared(a, a))
    empty = profile(tmp_path / "empty.tach", {})
    done = subprocess.run([find(), "diff", "--format", "markdown", a, empty], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("**Nothing to compare:**")


def test_at_most_twenty_rows(tmp_path: Path) -> None:
    a = profile(tmp_path / "a.tach", {f"f{i}": 10 for i in range(50)})
    b = profile(tmp_path / "b.tach", {f"f{i}": 10 + i for i in range(50)})
    text = compared(a, b)
    rows = rows_of(rendered(text))
    assert len(rows) == 20 and re.search(r"^\d+ more functions changed\.", text, re.M)
    assert len(text.encode()) < 65536       # GitHub's limit for a comment
