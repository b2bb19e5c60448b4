# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The page of tachbpf gil --html: the command's numbers, and how the matrix behaves."""
import collections
import json
import random
import re

import pytest

import make_tach
from browser import picture
from command import good, refused, run
from make_tach import ASLEEP, HOLDS, WAITS

PLACES = [("/srv/app.py", "crunch", 107), ("/srv/app.py", "fetch", 113), ("/srv/resize.py", "resize", 86),
          ("/srv/</script>.py", "<img src=x onerror=window.hacked=1>", 7)]
MATRIX = """(m => [m.rows.map(r => m.nameOf(r)), m.columns.map(c => m.nameOf(c)), m.sums])(report.matrix)"""


def recording(path, threads=5, seed=1, ms=2000):
    """One thread has the GIL for a while, others wait or sleep, each at a line."""
    rnd, w = random.Random(seed), make_tach.Writer()
    stacks = [w.stack([p, ("/srv/main.py", "main", 1)]) for p in PLACES]
    holder, at, waits = 0, [0] * threads, [True] * threads
    for t in range(ms):
        if rnd.random() < 0.05:
            holder = rnd.randrange(threads)
        if rnd.random() < 0.2:
            which = rnd.randrange(threads)
            at[which], waits[which] = rnd.randrange(len(stacks)), rnd.random() < 0.6
        for i in range(threads):
            status = HOLDS if i == holder else WAITS if waits[i] else ASLEEP
            w.add(stacks[at[i]], tid=100 + i, status=status | (32 if i == 0 else 0), time_us=1000 * t)
    w.write(path, mode="gil", start_us=10**9, version=(3, 14, 1))
    return path


@pytest.fixture
def open_page(browser, tmp_path):
    pages = []

    def open_page(*paths, **how):
        out = tmp_path / f"gil{len(pages)}.html"
        assert not good("gil", "--html", out, *paths)
        page = browser.open(out, **how)
        pages.append((page, out))
        return page

    yield open_page
    for page, out in pages:
        assert page.requests == [f"file://{out}"] and not page.faults, page.faults
        page.close()


def number(name):
    return int(re.search(r"\d+", name)[0])


def test_the_numbers_are_the_commands(open_page, tmp_path):
    path = recording(tmp_path / "12-app.tach")
    process, = json.loads(good("gil", "--json", "--limit", "0", path))["processes"]
    page = open_page(path)
    rows, columns, sums = page.run(MATRIX)
    waited = {number(r): sum(s) / 1000 for r, s in zip(rows, sums)}
    assert waited == {t["thread"]: pytest.approx(t["wait_s"]) for t in process["threads"] if t["wait_s"]}
    assert all(not s for r, line in zip(rows, sums) for c, s in zip(columns, line) if r == c)
    held = page.run("report.matrix.process.threads.map(t => [t.thread, t.held / 1000])")
    assert dict(held) == {t["thread"]: pytest.approx(t["held_s"]) for t in process["threads"]}
    assert "main thread 100" in rows
    page.key("l")
    rows, columns, sums = page.run(MATRIX)
    name = lambda p: f"{p['function']}:{p['line']}" if p else "nobody seen with it"     # noqa: E731
    wanted = collections.Counter()
    for cell in process["matrix"]:
        wanted[name(cell["waiter"]), name(cell["holder"])] += cell["wait_s"]
    got = {(r, c): s / 1000 for r, line in zip(rows, sums) for c, s in zip(columns, line) if s}
    assert got == {k: pytest.approx(v) for k, v in wanted.items()}
    # As a reader sees them.
    shown = page.run("[...document.querySelectorAll('#grid tbody td.sum')].map(d => d.textContent)")
    assert shown[-1] == f"{process['wait_s']:.3f}"
    assert f"{process['utilisation_pct']:.1f}% of the time" in page.text("#facts")


def test_what_both_did(open_page, tmp_path):
    """The lists beside the matrix add up to the cell that the mouse is on."""
    page = open_page(recording(tmp_path / "12-app.tach"))
    rows, columns, sums = page.run(MATRIX)
    lists = """[...document.querySelectorAll('#side ol')].map(l => [...l.querySelectorAll('.number')].reduce(
        (sum, n) => sum + parseFloat(n.textContent), 0))"""
    for row, column in ((0, 0), (0, 1), (2, 1), (1, 3)):
        page.hover(*page.run(f"(r => [r.x + 9, r.y + 9])(report.matrix.cellAt({row}, {column}).getBoundingClientRect())"))
        value = sums[row][column] / 1000
        if value:
            assert page.run(lists) == [pytest.approx(value), pytest.approx(value)]
            assert f"{value:.3f} s" in page.text("#side p")
        else:
            assert page.text("#side p") == "never"
        assert page.text("#side h2") == f"{rows[row]} waited for {columns[column]}"
    picture(page, "gil")


def test_keys(open_page, tmp_path):
    page = open_page(recording(tmp_path / "12-app.tach"))
    first = page.run("report.matrix.at")
    rows, columns, sums = page.run(MATRIX)
    assert sums[first[0]][first[1]] == max(map(max, sums))
    page.key("ArrowRight")
    assert page.run("document.activeElement.dataset.cell") == "{} {}".format(*first)
    page.key("ArrowDown")
    assert page.run("report.matrix.at") == [min(first[0] + 1, len(rows) - 1), first[1]]
    page.key("Enter")
    kept = page.run("report.matrix.at")
    page.hover(*page.run("(r => [r.x + 9, r.y + 9])(report.matrix.cellAt(0, 2).getBoundingClientRect())"))
    assert page.run("report.matrix.at") == kept
    page.key("Escape")
    page.hover(*page.run("(r => [r.x + 9, r.y + 9])(report.matrix.cellAt(0, 1).getBoundingClientRect())"))
    assert page.run("report.matrix.at") == [0, 1]
    for key in ("l", "ArrowLeft", "d", "n", "p", "?"):
        page.key(key)
    assert page.run("document.getElementById('help').open")


@pytest.mark.parametrize("width, scheme", [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_it_fits_and_can_be_read(open_page, tmp_path, width, scheme):
    page = open_page(recording(tmp_path / "12-app.tach", threads=60, ms=400), width=width, scheme=scheme)
    picture(page, f"gil-{width}-{scheme}")
    assert page.run("document.documentElement.scrollWidth") <= width
    rows, columns, sums = page.run(MATRIX)
    assert len(rows) == 40 and rows[-1] == "others"
    assert sum(map(sum, sums)) == page.run("report.matrix.process.waited")
    assert page.run("window.hacked") is None
    for node in page.call("Accessibility.getFullAXTree")["nodes"]:
        if node.get("role", {}).get("value") in ("button", "gridcell", "grid", "dialog"):
            assert node.get("name", {}).get("value") or node["role"]["value"] == "gridcell", node


def test_several_processes_and_none(open_page, tmp_path):
    recording(tmp_path / "12-app.tach")
    recording(tmp_path / "13-web.tach", seed=2)
    w = make_tach.Writer()
    w.add(w.stack([PLACES[0]]))
    w.write(tmp_path / "14-cpu.tach", mode="cpu", start_us=10**9)
    page = open_page(*sorted(tmp_path.glob("*.tach")))
    names = page.run("[...document.getElementById('process').options].map(o => o.textContent)")
    assert sorted(n.split(",")[0] for n in names) == ["app", "cpu", "web"]
    sums = page.run("report.matrix.sums.flat().reduce((a, b) => a + b)")
    page.key("n")
    assert page.run("report.matrix.sums.flat().reduce((a, b) => a + b)") != sums
    page.key("n")
    assert page.text("#empty").startswith("Not recorded: threads that wait") and page.run(
        "document.getElementById('grid').hidden")
    for key in ("ArrowDown", "l", "Enter", "Escape", "p"):
        page.key(key)
    assert page.run("document.getElementById('empty').hidden")


def test_one_file_that_may_load_nothing(tmp_path):
    path = recording(tmp_path / "12-app.tach")
    good("gil", "--html", tmp_path / "x.html", path)
    text = (tmp_path / "x.html").read_text()
    policy, = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    assert not re.search(r"https?://|@import|url\(", text) and "onerror" not in text
    assert len(text) < 400000


def test_refused(tmp_path):
    path = recording(tmp_path / "12-app.tach", ms=10)
    refused(run("gil", "--html", tmp_path / "x.html", "--json", path), "--json", status=2)
    refused(run("gil", "--html", tmp_path / "no" / "x.html", path), "x.html")
    assert not (tmp_path / "x.html").exists()
