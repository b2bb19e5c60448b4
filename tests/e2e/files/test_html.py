# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The flame graph, and what both HTML reports have in common, in a real browser.

What they count, how they behave, and that they ask for nothing.
"""
import base64
import collections
import os
import re
import time
import zlib
from xml.etree import ElementTree

import pytest

import make_tach
from browser import picture
from captures import DECODED, GOLDEN
from command import good
from html_reports import (CAPTURES, boxes, counted, crumbs, replay, samples, stacks_drawn, table,
                          total, where)
from processes import TIMEOUT
from profiles import GIL_REQUESTED, HAS_EXCEPTION, HAS_GIL, MAIN_THREAD, ON_CPU, UNKNOWN

# What a browser loads: no address but the name of SVG, which the page writes into a file.
LOADS = r"https?://(?!www\.w3\.org/2000/svg[\"'])|@import|url\("


# ---- the file ----

def test_one_file_that_may_load_nothing(tmp_path):
    for report in ("flamegraph", "heatmap"):
        text = replay(tmp_path / "x.html", GOLDEN / "cpu_raw.bin", report=report).read_text()
        policy, = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "unsafe" not in policy and "http" not in policy
        assert not re.search(LOADS, text)
        assert len(re.findall(r"<script", text)) == 2 and "@DATA@" not in text


HOSTILE = ["</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>",
           "\"'`${window.hacked=1}", "a\x00b\n\x1b[31m", "\u202egnp.exe", b"\xff\xfe\x80", "", "]]>",
           "&amp;&lt;", "x" * 5000, "𝔘𝔫𝔦\u0301𝔠𝔬𝔡𝔢", "javascript:window.hacked=1", "(((", "a;b"]


@pytest.fixture
def hostile(tmp_path):
    w = make_tach.Writer()
    for i, name in enumerate(HOSTILE):
        for j in range(i + 1):
            w.add(w.stack([(HOSTILE[-i], name, 3, 3, 0, 9), ("main.py", "main", 1)]))
    w.add(w.stack([]))
    path = tmp_path / "1-<img onerror=window.hacked=1 src=x>.tach"
    w.write(path)
    return path


@pytest.mark.parametrize("report", ["flamegraph", "heatmap"])
def test_hostile_names_are_only_text(show, hostile, report):
    page = show(hostile, report=report)
    raw = page.file.read_bytes()
    assert b"window.hacked" not in raw and b"onerror" not in raw
    assert page.run("window.hacked") is None
    everything = page.run("document.body.innerText + document.title")
    assert "<img" in everything and "hacked" in everything
    assert not re.search("[\x00\x1b\u202e\ufffd]", everything)
    assert page.run("document.querySelectorAll('img, script[src], a').length") == 0
    if report == "flamegraph":
        assert total(page) == sum(range(1, len(HOSTILE) + 1)) + 1
        assert len(table(page)[1]) == len(HOSTILE) + 1
        assert r"\xff\xfe\x80" in everything
        page.click("#bottom-up")
        page.hover(*where(page, "main"))
        assert not page.run("document.getElementById('tip').hidden")
    assert page.run("window.hacked") is None


# ---- what is counted ----

@pytest.mark.parametrize("by_line", [False, True])
@pytest.mark.parametrize("name", DECODED)
def test_self_and_total(show, name, by_line):
    page = show(GOLDEN / f"{name}.bin")
    if by_line:
        page.click("#lines")
    want = counted((s for *_, s in samples(name)), by_line)
    assert table(page, by_line) == (want[0], want[1])


@pytest.mark.parametrize("name", CAPTURES)
def test_stacks_are_those_of_the_collapsed_format(show, name):
    """Every distinct path with its weight, walked through the tree that is drawn."""
    page = show(GOLDEN / f"{name}.bin")
    page.click("#lines")
    got = page.run("""(() => { const g = report.graph, v = g.view, out = [];
        (function walk(n, path) {
            if (n) path = [...path, g.fileName(v.label[n]).replace(/.*\\//, '') + ':' +
                g.model.str(g.tree.labelFunc[v.label[n]]) + ':' + g.tree.labelLine[v.label[n]]];
            if (v.selfA[n]) out.push([path.join(';'), v.selfA[n]]);
            for (const k of v.kids(n)) walk(k, path);
        })(0, []); return out; })()""")
    ours, theirs = collections.Counter(), collections.Counter()
    for stack, n in got:
        ours[re.sub(r"~:([^;]*):0", r"\1", stack)] += n
    for line in (GOLDEN / f"{name}.collapsed").read_text().splitlines():
        stack, _, n = line.rpartition(" ")
        theirs[stack.partition(";")[2]] += int(n)
    assert ours == theirs


@pytest.mark.parametrize("bit", [HAS_GIL, GIL_REQUESTED, HAS_EXCEPTION, MAIN_THREAD])
def test_status_selection(show, bit):
    page = show(GOLDEN / "cpu_raw.bin")
    for wanted in (True, False, None):
        page.click(f"#statuses [data-bit='{bit}']")
        stacks = [s for _, status, s in samples("cpu_raw")
                  if wanted is None or bool(status & bit) == wanted]
        assert total(page) == len(stacks)
        assert table(page) == counted(stacks)


def test_a_status_that_selects_nothing_is_not_offered(show):
    page = show(GOLDEN / "cpu_raw.bin")
    offered = page.run("[...document.querySelectorAll('#statuses button')].map(b => +b.dataset.bit)")
    bits = [status for _, status, _ in samples("cpu_raw")]
    assert offered == [b for b in (HAS_GIL, ON_CPU, GIL_REQUESTED, HAS_EXCEPTION, MAIN_THREAD,
                                   UNKNOWN) if any(s & b for s in bits) and not all(s & b for s in bits)]


def test_thread_selection(show):
    page = show(GOLDEN / "cpu_raw.bin")
    threads = collections.Counter(t for t, *_ in samples("cpu_raw"))
    page.click("#threads-button")
    picture(page, "threads")
    page.click("#threads-none")
    assert total(page) == 0 and page.run("!document.getElementById('empty').hidden")
    for tid, n in threads.items():
        page.click("#threads-none")
        row = f"[...document.querySelectorAll('#thread-list li')].find(l => l.textContent.includes('thread {tid}'))"
        page.run(f"{row}.querySelector('input').click()")
        assert total(page) == n
        assert table(page) == counted(s for t, _, s in samples("cpu_raw") if t == tid)
    page.click("#threads-all")
    assert total(page) == sum(threads.values())
    page.key("Escape")
    assert page.run("document.getElementById('threads').hidden")


def test_the_thread_list_ends_after_20(show, many_threads):
    page = show(many_threads)
    page.click("#threads-button")
    listed = "[...document.querySelectorAll('#thread-list .thread .name')].map(l => l.textContent)"
    marked = """[...document.querySelectorAll('#thread-list .mark')].map(m =>
        m.closest('li').textContent)"""
    # The busiest, and the main thread, which is the idlest of all.
    assert page.run(listed) == [f"thread {100 + i}" for i in (*range(19), 29)]
    assert page.text("#thread-list .more") == "and 10 more"
    assert page.run(marked) == ["thread 129main1"]
    picture(page, "threads-many")
    # What is not listed is selected all the same.
    page.click("#threads-none")
    page.run("document.querySelector('#thread-list .process input').click()")
    assert total(page) == sum(range(1, 31))
    page.run("document.querySelector('#thread-list .more button').click()")
    assert page.run(listed) == [f"thread {100 + i}" for i in range(30)]
    assert not page.run("document.querySelectorAll('#thread-list .more').length")
    assert page.run("[...document.querySelectorAll('#thread-list input')].every(b => b.checked)")


def test_process_selection(show, tmp_path):
    for tgid, name in ((7, "cpu_raw"), (9, "deep400"), (12, "wall_zstd")):
        (tmp_path / f"{tgid}-{name}.tach").write_bytes((GOLDEN / f"{name}.bin").read_bytes())
    counts = {"cpu_raw": 467, "deep400": 160, "wall_zstd": 2574}
    page = show(*sorted(tmp_path.glob("*.tach")))
    assert total(page) == sum(counts.values()) and "3 processes" in page.text("#facts")
    page.click("#threads-button")
    for name, n in counts.items():
        page.click("#threads-none")
        page.run(f"""[...document.querySelectorAll('#thread-list .process')].find(l =>
            l.textContent.includes('{name}, pid')).querySelector('input').click()""")
        assert total(page) == n


# ---- how it behaves ----

def test_search(show):
    page = show(GOLDEN / "cpu_raw.bin")
    stacks = [s for *_, s in samples("cpu_raw")]
    for pattern, wanted in ((r"^garbage ", lambda f: f[1] == "garbage"),
                            (r"mix\.py", lambda f: f[0].endswith("mix.py")),
                            ("GARBAGE", lambda f: False), ("raise|deep", lambda f: "raise" in f[1] or "deep" in f[1])):
        page.key("/")
        page.type(pattern)
        hit = sum(any(wanted(f) for f in s) for s in stacks)
        assert page.run("report.matched") == hit
        shown = page.run("document.getElementById('matched').value")
        assert abs(float(shown.rstrip("% matched")) - 100 * hit / 467) < 0.06
        picture(page, "search")
        page.key("Escape")
        assert page.run("report.graph.matches") is None
    page.key("/")
    page.type("(((")
    assert page.run("document.getElementById('search').getAttribute('aria-invalid')") == "true"


def test_zoom_with_the_mouse(show):
    page = show(GOLDEN / "cpu_raw.bin")
    full = next(b[3] for b in boxes(page) if b[2] == 0)
    page.click_at(*where(page, "garbage"))
    assert next(b[3] for b in boxes(page) if b[0] == "garbage") == full
    assert crumbs(page) == ["all", "Thread._bootstrap", "Thread._bootstrap_inner", "Thread.run", "garbage"]
    assert not any(b[0] == "raiser" for b in boxes(page))
    page.click_at(*where(page, "Thread.run"))
    assert crumbs(page)[-1] == "Thread.run" and any(b[0] == "raiser" for b in boxes(page))
    page.click("#crumbs li:first-child button")
    assert crumbs(page) == ["all"]


CLIPBOARD = """Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => {
    if (window.refused) throw new Error('refused');
    window.copied = text; } } })"""


@pytest.mark.parametrize("inverted", [False, True])
def test_the_stack_of_a_frame_is_copied(show, inverted):
    """Innermost first, in both directions; the page says whether the browser has done it."""
    page = show(GOLDEN / "cpu_raw.bin")
    page.run(f"({CLIPBOARD}, 0)")
    page.key("y")
    assert "no stack to copy" in page.text("#status").lower() and page.run("window.copied") is None
    if inverted:
        page.key("i")
    chain = page.run("""(() => { const g = report.graph, v = g.view; let n = 0, names = [];
        while (v.kids(n).length) { n = v.kids(n)[0]; names.push(g.name(v.label[n])); }
        g.zoomTo(n); return names; })()""")
    page.key("y")
    lines = page.run("window.copied").split("\n")
    assert [line.split(" (")[0] for line in lines] == (chain if inverted else chain[::-1])
    assert len(lines) > 1 and f"{len(lines)} frames" in page.text("#status")
    page.run("window.refused = true")
    page.key("y")
    assert "does not allow" in page.text("#status")


def test_keyboard(show):
    page = show(GOLDEN / "cpu_raw.bin")
    page.run("document.getElementById('canvas').focus()")
    for key in ("ArrowDown",) * 5:
        page.key(key)
    assert page.run("document.getElementById('status').value").startswith("garbage (/w/fx/mix.py:")
    page.key("ArrowRight")
    assert page.run("document.getElementById('status').value").startswith("raiser (")
    page.key("Enter")
    assert crumbs(page)[-1] == "raiser"
    picture(page, "zoomed")
    page.key("Backspace")
    assert crumbs(page)[-1] == "Thread.run"
    page.key("Escape")
    assert crumbs(page) == ["all"]
    page.key("t")
    assert page.run("document.getElementById('side').hidden")
    page.key("l")
    assert page.run("document.getElementById('lines').getAttribute('aria-pressed')") == "true"
    page.key("?")
    assert page.run("document.getElementById('help').open")
    picture(page, "help")
    page.key("Escape")
    assert not page.run("document.getElementById('help').open")


def test_bottom_up(show):
    page = show(GOLDEN / "cpu_raw.bin")
    want = collections.Counter(s[-1][:2] for *_, s in samples("cpu_raw"))
    page.key("i")
    leaves = page.run("""(v => [...v.kids(0)].map(k => [report.graph.fileName(v.label[k]),
        report.graph.model.str(report.graph.tree.labelFunc[v.label[k]]), v.a[k]]))(report.graph.view)""")
    assert {(f, n): w for f, n, w in leaves} == want
    # Every path from a leaf: the weight of the stacks that end in it.
    paths = collections.Counter()
    for *_, stack in samples("cpu_raw"):
        for i in range(1, len(stack) + 1):
            paths[tuple(s[:2] for s in stack[::-1][:i])] += 1
    got = page.run("""(() => { const g = report.graph, v = g.view, out = [];
        (function walk(n, path) { for (const k of v.kids(n)) {
            const p = [...path, [g.fileName(v.label[k]), g.model.str(g.tree.labelFunc[v.label[k]])]];
            out.push([p, v.a[k]]); walk(k, p); } })(0, []); return out; })()""")
    assert {tuple(map(tuple, p)): w for p, w in got} == paths
    picture(page, "bottom-up")
    page.click_at(*where(page, "raiser"))
    assert crumbs(page) == ["all, by innermost function", "raiser"]
    page.key("i")
    assert crumbs(page) == ["all"] and total(page) == 467


def test_table_finds_in_the_graph(show):
    page = show(GOLDEN / "cpu_raw.bin")
    page.click("#side tbody tr:nth-child(2) td button")
    assert page.run("report.matched") == 81     # raiser's total
    assert page.run("document.querySelector('#side tr[aria-current]').textContent").count("raiser")
    page.click("#side th:nth-child(3) button")
    names = page.run("[...document.querySelectorAll('#side tbody td button')].map(b => b.title.split('\\n')[0])")
    assert names == sorted(names, reverse=True) or names == sorted(names)


def test_tooltip(show):
    page = show(GOLDEN / "cpu_raw.bin")
    page.hover(*where(page, "garbage"))
    tip = page.run("document.getElementById('tip').innerText")
    assert "garbage" in tip and "/w/fx/mix.py:" in tip and "230" in tip and "219" in tip
    assert "49.3%" in tip
    picture(page, "tooltip")


@pytest.mark.parametrize("report", ["flamegraph", "heatmap"])
def test_dark_and_light(show, report):
    page = show(GOLDEN / "cpu_raw.bin", report=report, scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.run(colour)
    assert page.run("theme.dark")
    page.prefer("light")
    page.until("!theme.dark")
    light = page.run(colour)
    assert dark != light
    page.click("#theme")
    assert page.run(colour) == dark


def luminance(rgb):
    parts = [int(v) / 255 for v in re.findall(r"\d+", rgb)[:3]]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_can_be_read_on_every_colour(show, scheme):
    page = show(GOLDEN / "cpu_raw.bin", scheme=scheme)
    text = luminance(page.run("getComputedStyle(document.body).color"))
    grounds = page.run("""[...Array(3600).keys()].flatMap(h => [-0.025, 0.025].map(s => theme.dark ?
        oklch(0.46 + s, 0.085, h / 10) : oklch(0.83 + s, 0.085, h / 10))).concat(
        [...Array(41).keys()].map(c => report.graph.changeColour(c / 20 - 1)),
        report.graph.colour(-1))""")
    for ground in map(luminance, grounds):
        light, dark = max(text, ground), min(text, ground)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_controls_have_names(show):
    for report in ("flamegraph", "heatmap"):
        page = show(GOLDEN / "cpu_raw.bin", report=report)
        nodes = page.call("Accessibility.getFullAXTree")["nodes"]
        for node in nodes:
            if node.get("role", {}).get("value") in ("button", "searchbox", "combobox", "checkbox",
                                                     "application", "table", "dialog"):
                assert node.get("name", {}).get("value"), node


def test_empty_profile(show, tmp_path):
    make_tach.Writer().write(tmp_path / "empty.tach")
    page = show(tmp_path / "empty.tach")
    assert total(page) == 0 and page.run("!document.getElementById('empty').hidden")
    for key in ("ArrowDown", "Enter", "i", "l", "t", "Escape"):
        page.key(key)
    page = show(tmp_path / "empty.tach", report="heatmap")
    assert page.text("#file-name") == "No samples in source files."


def test_a_damaged_report_says_so(browser, tmp_path):
    out = replay(tmp_path / "x.html", GOLDEN / "cpu_raw.bin")
    text = out.read_text()
    start = text.index('id="data">\n') + len('id="data">\n')
    end = text.index("\n</script>", start)
    data = zlib.decompress(base64.b64decode(text[start:end]))
    cut = base64.b64encode(zlib.compress(data[:len(data) // 2])).decode()
    out.write_text(text[:start] + cut + text[end:])
    page = browser.open(out, wait=False)
    page.until("window.report && report.error")
    assert "cannot be read" in page.text("[role=alert]")
    page.close()


# ---- whose code, groups, links, SVG ----

LIBRARY = "/srv/app/.venv/lib/python3.12/site-packages/web/server.py"
STANDARD = "/usr/lib64/python3.12/json/decoder.py"
OWN = "/srv/app/main.py"
LAYERS = [          # stack root first, samples
    ([("<frozen runpy>", "_run", 1), (OWN, "main", 2), (LIBRARY, "serve", 3), (OWN, "handle", 4),
      (STANDARD, "loads", 5)], 8),
    ([("<frozen runpy>", "_run", 1), (OWN, "main", 2), (LIBRARY, "serve", 3), (OWN, "handle", 4)], 4),
    ([("<frozen runpy>", "_run", 1), (OWN, "main", 2), (LIBRARY, "serve", 3), ("~", "<GC>", 0)], 2),
    ([("<frozen runpy>", "_run", 1), (OWN, "main", 2), ("~", "<GC>", 0)], 1)]


def layered(path, tids=(1,), times=1):
    w = make_tach.Writer()
    for tid in tids:
        for stack, cnt in LAYERS:
            at = w.stack(stack[::-1])
            for _ in range(cnt * times):
                w.add(at, tid=tid)
    w.write(path)
    return path


def test_my_code_only(show, tmp_path):
    """What a package or the standard library does is its caller's; a detail goes with its function."""
    page = show(layered(tmp_path / "7-app.tach"))
    assert len(stacks_drawn(page)) == 4
    page.key("c")
    assert stacks_drawn(page) == {"main;handle": 12, "main": 2, "main;<GC>": 1}
    assert total(page) == 15 and page.run("document.getElementById('own-button').ariaPressed") == "true"
    page.key("l")
    assert stacks_drawn(page) == {"main:2;handle:4": 12, "main:2": 2, "main:2;<GC>": 1}
    page.click("#own-button")
    assert len(stacks_drawn(page)) == 4
    picture(page, "layers")


def test_nothing_to_leave_out_is_not_offered(show, tmp_path):
    w = make_tach.Writer()
    w.add(w.stack([(OWN, "main", 2)]))
    w.write(tmp_path / "7-app.tach")
    page = show(tmp_path / "7-app.tach")
    for name in ("own-button", "group-control", "python-button"):
        assert page.run(f"document.getElementById('{name}').hidden")
    page.key("c")
    assert stacks_drawn(page) == {"main": 1}


def choose(page, name, value):
    page.run(f"""(s => {{ s.value = '{value}'; s.dispatchEvent(new Event('change')); }})(
        document.getElementById('{name}'))""")


def test_groups_by_process(show, tmp_path):
    """At first each process is a frame below the root; by name, two of one name are one. The table has functions
    only."""
    for name, times in (("7-app", 1), ("8-app", 2), ("9-worker", 4)):
        layered(tmp_path / f"{name}.tach", times=times)
    page = show(*sorted(tmp_path.glob("*.tach")))
    by_process = stacks_drawn(page)
    assert collections.Counter(stack.split(";")[0] for stack in by_process) == {
        name: len(LAYERS) for name in ("app (pid 7)", "app (pid 8)", "worker (pid 9)")}
    choose(page, "group", "")
    one = stacks_drawn(page)
    rows = page.run("report.graph.tableRows().map(r => report.graph.name(r.label))")
    options = "[...document.getElementById('group').options].filter(o => !o.hidden).map(o => o.value)"
    assert page.run(options) == ["", "process", "name"]     # no containers: nothing to choose
    page.until("location.hash === '#group=none'")
    choose(page, "group", "name")
    got = stacks_drawn(page)
    assert {stack: n for stack, n in got.items() if stack.startswith("app;")} == {
        f"app;{stack}": n * 3 // 7 for stack, n in one.items()}
    assert {stack: n for stack, n in got.items() if stack.startswith("worker;")} == {
        f"worker;{stack}": n * 4 // 7 for stack, n in one.items()}
    assert sorted(page.run("report.graph.tableRows().map(r => report.graph.name(r.label))")) == sorted(rows)
    page.click_at(*where(page, "worker"))
    assert crumbs(page) == ["all", "worker"] and page.text("#scope") == "In worker"
    page.key("c")
    assert "worker;main;handle" in stacks_drawn(page)
    page.key("i")
    assert page.run("report.graph.view.a[0]") == 15 * 7
    choose(page, "group", "")
    page.key("c")
    page.key("i")
    assert stacks_drawn(page) == one
    assert not page.faults


def test_groups_by_container(show, tmp_path):
    """With names from outside: they are only text."""
    (tmp_path / "7-app.tach").write_bytes(layered(tmp_path / "x.tach").read_bytes())
    (tmp_path / "8-app.tach").write_bytes((tmp_path / "x.tach").read_bytes())
    page = show(tmp_path / "7-app.tach", tmp_path / "8-app.tach")
    page.run("(report.graph.model.meta.processes[1].container = 'web<b>', 0)")
    choose(page, "group", "container")
    assert {s.split(";")[0] for s in stacks_drawn(page)} == {"host", "@web<b>"}


def test_the_table_follows_the_zoom(show):
    page = show(GOLDEN / "cpu_raw.bin")
    stacks = [s for *_, s in samples("cpu_raw")]
    assert page.run("document.getElementById('scope').hidden")
    page.click_at(*where(page, "Thread.run"))
    assert page.text("#scope") == "In Thread.run"
    depth = [f[1] for f in next(s for s in stacks if any(f[1] == "Thread.run" for f in s))].index("Thread.run")
    wanted = counted(s[depth:] for s in stacks if len(s) > depth and s[depth][1] == "Thread.run"
                     and [f[:2] for f in s[:depth]] == [f[:2] for f in next(
                         t for t in stacks if len(t) > depth and t[depth][1] == "Thread.run")[:depth]])
    assert table(page) == wanted
    shares = "[...document.querySelectorAll('#side tbody td:nth-child(2)')].map(d => d.firstChild.data)"
    assert "100.0%" in page.run(shares)
    page.key("Escape")
    assert table(page) == counted(stacks)
    page.key("i")
    page.click_at(*where(page, "garbage"))
    assert table(page) == counted(s for s in stacks if s[-1][1] == "garbage")


def test_search_names_only(show, tmp_path):
    w = make_tach.Writer()
    w.add(w.stack([("/srv/json/main.py", "main", 1)]))
    w.add(w.stack([("/srv/app.py", "to_json", 1)]))
    w.write(tmp_path / "7-app.tach")
    page = show(tmp_path / "7-app.tach")
    page.key("/")
    page.type("json")
    assert page.run("report.matched") == 2
    page.click("#names-button")
    assert page.run("report.matched") == 1
    # a row of the table is one function of one file, also then
    page.run("report.graph.find(report.graph.table[0].label)")
    assert page.run("[report.matched, report.graph.namesOnly]") == [1, False]


VIEW = """(g => [g.inverted, g.byFunction, g.ownOnly, g.namesOnly, g.groupBy, g.colourBy, g.need, g.avoid,
    g.sort, [...g.threads], document.getElementById('search').value, g.pathOf(g.zoom).map(l => g.name(l)),
    g.view.a[g.zoom], g.table.map(r => g.name(r.label)),
    [...document.querySelectorAll('button[aria-pressed=true]')].map(b => b.id),
    document.getElementById('threads-button').textContent])(report.graph)"""


@pytest.mark.parametrize("inverted", [False, True])
def test_a_link_carries_the_view(browser, tmp_path, inverted):
    """Every part of it; it is the address, which another page of the same file reads."""
    for name in ("7-app", "9-worker"):
        layered(tmp_path / f"{name}.tach", tids=(1, 2, 3, 4, 5, 6, 7))
    out = replay(tmp_path / "x.html", *sorted(tmp_path.glob("*.tach")))
    page = browser.open(out)
    first = page.run(VIEW)
    assert page.run("location.hash") == ""
    choose(page, "group", "name")
    choose(page, "colour", "package")
    for key in ["c", "l"] + ["i"] * inverted:
        page.key(key)
    page.run("""(report.graph.threads[2] = report.graph.threads[9] = 0,
        report.graph.sort = { key: 'name', down: false }, report.graph.reweigh())""")
    page.key("f")
    page.key("/")
    page.type("ma.n &#%")
    page.key("Enter")
    page.click_at(*where(page, "main:2" if not inverted else "handle:4"))
    page.until("location.hash.includes('zoom=')")
    wanted, address = page.run(VIEW), page.run("location.href")
    assert wanted != first and "11 of 14" not in address
    again = browser.open(address, wait=False)
    again.until("window.report && report.ready")
    assert again.run(VIEW) == wanted
    # back to what it began with: the address has nothing to say
    again.run("(location.hash = '#', 0)")
    again.until("report.graph.zoom === 0 && !report.graph.ownOnly")
    assert again.run(VIEW) == first
    for p in (page, again):
        assert not p.faults, p.faults
        p.close()


@pytest.mark.parametrize("text", [
    "zoom=zz.zz", "threads=14.", "threads=9.AAA", "threads=x", "need=-1&avoid=999999", "group=nonsense",
    "colour=__proto__", "search=(((", "sort=constructor", "%%%", "up=2&lines=0", "zoom=" + "a." * 20000,
    "search=<img src=x onerror=window.hacked=1>", "held=1&python=1", "width=a&counts=1"])
def test_a_damaged_link_harms_nothing(browser, tmp_path, text):
    out = replay(tmp_path / "x.html", layered(tmp_path / "7-app.tach"))
    page = browser.open(f"file://{out}#{text}", wait=False)
    page.until("window.report && (report.ready || report.error)")
    assert not page.run("report.error") and page.run("window.hacked") is None
    assert page.run("report.graph.view.a[0]") in (0, 15)    # "need" may select nothing
    assert not page.faults, page.faults
    page.close()


def test_a_picture_is_saved(browser, tmp_path):
    """An SVG file with each frame that is drawn, its name, share and width; names are text in it."""
    w = make_tach.Writer()
    for i, name in enumerate(HOSTILE):
        w.add(w.stack([(HOSTILE[-i], name, 3), ("main.py", "main", 1)]))
    w.write(tmp_path / "7-app.tach")
    page = browser.open(replay(tmp_path / "x.html", tmp_path / "7-app.tach"))
    saved = tmp_path / "saved"
    saved.mkdir()
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(saved),
                 browserContextId=page.context)
    page.key("s")
    deadline = time.monotonic() + TIMEOUT
    while not list(saved.glob("*.svg")) and time.monotonic() < deadline:
        time.sleep(0.05)
    file, = saved.glob("*.svg")
    assert file.name == "7-app.svg"
    root = ElementTree.parse(file).getroot()
    space = "{http://www.w3.org/2000/svg}"
    frames = [(g.find(space + "title").text, float(g.find(space + "rect").get("x")),
               float(g.find(space + "rect").get("width"))) for g in root.iter(space + "g")
              if g.find(space + "title") is not None]
    drawn = page.run("report.graph.rows.flat().map(b => [report.graph.name(report.graph.view.label[b.node]), b.x, b.w])")
    assert len(frames) == len(drawn) == len(HOSTILE) + 2
    for (title, x, width), (name, at, wide) in zip(frames, drawn):
        assert title.startswith(re.sub("[\ufffe\uffff]", "\ufffd", name)[:100])
        assert x == pytest.approx(at, abs=0.01) and width == pytest.approx(wide, abs=0.85)
    assert not list(root.iter(space + "script")) and not list(root.iter(space + "img"))
    assert page.run("window.hacked") is None and not page.faults
    assert "100.0%" in frames[0][0]
    page.close()


# ---- a hundred thousand stacks ----

@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.tach"
    make_tach.synthetic(path, 100000, 120000, 60)
    return path


@pytest.mark.parametrize("in_time", [False, pytest.param(True, marks=pytest.mark.truth)])
def test_usable_with_100000_stacks(show, large, in_time):
    page = show(large)
    ready = page.run("report.ready")
    print(f"first picture after {ready:.0f} ms, {page.file.stat().st_size} bytes")
    assert total(page) == 120000
    assert not in_time or ready < 1000 * float(os.environ.get("TACHBPF_SLOWNESS", 3))
    picture(page, "large")
    for action in ("report.graph.inverted = true, report.graph.review()",
                   "report.graph.byFunction = false, report.graph.reweigh()"):
        took = page.run(f"(() => {{ const t = performance.now(); {action}; return performance.now() - t; }})()")
        print(f"{action}: {took:.0f} ms")
        assert not in_time or took < 3000
    assert total(page) == 120000
    picture(page, "large-bottom-up")
    # What is too narrow to draw can be reached: the box that stands for it opens.
    page.run("document.getElementById('canvas').focus()")
    narrow = page.run("report.graph.rows[1].at(-1).cnt")
    page.run("(b => report.graph.zoomTo(b.parent, b.first))(report.graph.rows[1].at(-1))")
    assert page.run("report.graph.rows[1].filter(b => b.node >= 0 && b.w > 0.5).length") > 100
    page.run("(b => report.graph.zoomTo(b.parent, b.first))(report.graph.rows[1].at(-1))")
    assert page.run("report.graph.rows[1].filter(b => b.node >= 0 && b.w > 0.5).length") > 100
    page.key("Escape")
    page.run("(b => report.graph.zoomTo(b.parent, b.first))(report.graph.rows[1].at(-1))")
    assert crumbs(page)[-1] == f"… {narrow:,} narrow frames"
    picture(page, "narrow")
    page.key("Backspace")
    assert len(crumbs(page)) == 1


# ---- comparison ----

@pytest.fixture
def diff_page(tmp_path):
    out = tmp_path / "diff.html"
    said = good("diff", "--force", GOLDEN / "cpu_raw.bin", GOLDEN / "wall_zstd.bin", "--format", "flamegraph",
                "-o", out)
    assert not said
    assert os.listdir(tmp_path) == ["diff.html"]
    text = out.read_text()
    assert not re.search(LOADS, text) and "default-src 'none'" in text
    return out


def test_differential(browser, diff_page):
    page = browser.open(diff_page)
    rows = page.run("""report.graph.tableRows().map(r => [report.graph.fileName(r.label),
        report.graph.model.str(report.graph.tree.labelFunc[r.label]), r.selfA, r.selfB, r.a, r.b])""")
    sides = [counted(s for *_, s in samples(n)) if (GOLDEN / f"{n}.lines.txt").exists() else None
             for n in ("cpu_raw", "wall_zstd")]
    for file, name, self_a, self_b, a, b in rows:
        for got, side in (((self_a, a), sides[0]), ((self_b, b), sides[1])):
            if side:
                assert got == (side[0][file, name], side[1][file, name])
    assert page.run("[report.graph.view.a[0], report.graph.view.b[0]]") == [467, 2574]
    assert page.text("#title") == "cpu_raw.bin → wall_zstd.bin"
    # Their totals differ: shares are compared, until the user wants counts.
    assert page.run("[report.graph.shares, document.getElementById('scale').value]") == [True, "shares"]
    assert page.run("report.graph.view.width[0]") == pytest.approx(2 * 2574)
    page.run("(s => { s.value = 'counts'; s.dispatchEvent(new Event('change')); })(document.getElementById('scale'))")
    for width, want in (("a", 467), ("b", 2574), ("both", 467 + 2574)):
        page.run(f"(s => {{ s.value = '{width}'; s.dispatchEvent(new Event('change')); }})(document.getElementById('width-of'))")
        assert page.run("report.graph.view.width[0]") == want
    page.run("(s => { s.value = 'shares'; s.dispatchEvent(new Event('change')); })(document.getElementById('scale'))")
    assert page.run("report.graph.view.width[0]") == pytest.approx(2 * 2574)
    assert page.run("[report.graph.change(0, 9) > 0.9, report.graph.change(9, 0) < -0.9, report.graph.change(0, 0)]") == [
        True, True, 0]
    picture(page, "diff")
    page.prefer("dark")
    page.until("theme.dark")
    picture(page, "diff-dark")
    assert not page.faults and page.requests == [f"file://{diff_page}"]
    page.close()
