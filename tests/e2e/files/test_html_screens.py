# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""All pages on a phone, on its side, and on a desktop: nothing is cut, a tap answers, the graph has the room.

And what a person reads on any of them: tooltips, names, numbers.
"""
import json
import random
import re

import pytest

import make_tach
import npm
from browser import picture
from command import good
from html_reports import change_metadata, crumbs, replay, where
from make_tach import ASLEEP, HOLDS, WAITS
from paths import TESTS

TRACE = TESTS / "golden" / "mlyze" / "grown.mlyze"
TYPES = TRACE.with_name("types.mlyze")
PHONES = [(390, 844), (844, 390)]
SIZES = [*PHONES, (1440, 900)]
NAMES = ["MainThread", "ThreadPoolExecutor-0_0", "ThreadPoolExecutor-0_1", "ThreadPoolExecutor-0_2"]
OWN = "/srv/shop/orders.py"
STACK = [("<frozen runpy>", "_run_module_as_main", 88), ("/srv/shop/__main__.py", "<module>", 3),
         ("/usr/lib/python3.14/threading.py", "Thread._bootstrap", 1014),
         ("/usr/lib/python3.14/threading.py", "Thread._bootstrap_inner", 1043),
         ("/usr/lib/python3.14/threading.py", "Thread.run", 994),
         (OWN, "OrderBook.<locals>.settle", 40)]
LEAVES = [[(OWN, "Order.total", 107)], [(OWN, "Order.total", 109)], [(OWN, "price_of", 12), ("~", "<GC>", -1)]]
HOSTILE = "<img src=x onerror=window.hacked=1>\u202e"
NOTHING = r"null\b|undefined|NaN|Infinity|\[object|\de[-+]\d"


def record(directory, pid, comm, seed, ms=300):
    rnd, w = random.Random(seed), make_tach.Writer()
    stacks = [w.stack((STACK + leaf)[::-1]) for leaf in LEAVES]
    for t in range(ms):
        for i in range(len(NAMES)):
            status = HOLDS if t // 50 % len(NAMES) == i else rnd.choice((WAITS, ASLEEP))
            w.add(stacks[rnd.choice((0, 0, 0, 1, 2))], tid=pid + i, status=status | (32 if i == 0 else 0),
                  time_us=1000 * t)
    w.write(directory / f"{pid}-{comm}.tach", mode="gil", start_us=10**9, version=(3, 14, 1))
    return {"file": f"{pid}-{comm}.tach", "pid": pid, "comm": comm,
            "thread_names": {str(pid + i): name for i, name in enumerate(NAMES)}}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Each kind of page: its file."""
    top = tmp_path_factory.mktemp("reports")
    directory = top / "recording"
    directory.mkdir()
    processes = [record(directory, *what) for what in ((4242, "gunicorn", 1), (5242, "gunicorn", 2),
                                                       (6242, "celery", 3))]
    processes[2]["command"] = ["python3", "/srv/venv/bin/celery", "-A", "shop", "worker"]
    (directory / "session.json").write_text(json.dumps({
        "kernel": "6.1", "start_time": "2026-01-02T03:04:05Z", "start_monotonic_us": 10**9,
        "processes": processes}))
    pages = {name: top / f"{name}.html" for name in ("flamegraph", "heatmap", "gil", "mem", "types", "diff")}
    replay(pages["flamegraph"], directory)
    replay(pages["heatmap"], directory, report="heatmap")
    good("gil", "--html", pages["gil"], directory / "4242-gunicorn.tach")
    good("mem", "--html", pages["mem"], TRACE)
    good("mem", "--html", pages["types"], TYPES)
    good("diff", directory / "4242-gunicorn.tach", directory / "5242-gunicorn.tach", "--format", "flamegraph",
         "-o", pages["diff"])

    def add_sources(meta):
        meta["sources"] = {OWN: {"107": "        return sum(line.price for line in self.lines)",
                                 "109": "        return 0", "40": "x" * 200}}

    def add_types(meta):
        types = meta["types"]
        for i in range(len(types["list"]), 10):
            types["list"].append({**types["list"][0], "name": HOSTILE + "x" * 9 * i, "more_bytes": -(2**i),
                                  "bytes": [2**i, None, 0]})
        types["grown"] = 12

    change_metadata(pages["flamegraph"], add_sources)
    change_metadata(pages["types"], add_types)
    return pages


@pytest.fixture
def open_report(browser, reports):
    opened = []

    def open_report(name, size=SIZES[-1], **how):
        page = browser.open(reports[name], width=size[0], height=size[1], **how)
        opened.append(page)
        return page

    yield open_report
    for page in opened:
        assert not page.faults, page.faults
        page.close()


# What can be seen and used: name, its rectangle, the size of its text.
SEEN = """(() => { const out = [];
    for (const e of document.querySelectorAll('body *')) {
        const r = e.getBoundingClientRect(), css = getComputedStyle(e);
        if (!e.checkVisibility({ visibilityProperty: true }) || r.width < 2 || e.closest('.hidden, footer, script, noscript') &&
            css.position !== 'static') continue;
        if (e.closest('.hidden') || e.tagName === 'OPTION') continue;
        const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        out.push([e.tagName + '#' + (e.id || e.textContent.slice(0, 20)), r.left, r.right, r.width, r.height,
            text ? parseFloat(css.fontSize) : null, /^(BUTTON|SELECT|INPUT)$/.test(e.tagName),
            !!e.closest('#crumbs, #grid, #rows, #time-axis, #thread-list, #scroller')]);
    }
    return out; })()"""


def check_fit(page, size):
    width, phone = size[0], size in PHONES
    assert page.run("document.documentElement.scrollWidth") <= width
    for name, left, right, wide, high, text, control, scrolls in page.run(SEEN):
        assert scrolls or (left >= -1 and right <= width + 1), (name, left, right)
        assert text is None or text >= 12, (name, text)
        if control and phone:
            assert high >= 40 or "checkbox" in name or name.startswith("INPUT#") and high >= 20, (name, wide, high)
    assert not re.search(NOTHING, page.run("document.body.innerText"))


def turn(page, size):
    page.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
    page.settle()


@pytest.mark.parametrize("name", ["flamegraph", "mem", "types", "diff", "gil", "heatmap"])
def test_a_page_fits(open_report, name):
    """Also after it was turned, and with its menu open."""
    page = open_report(name, PHONES[0])
    graph = f"document.getElementById('{'matrix' if name == 'gil' else 'scroller'}').clientHeight / innerHeight"
    for size in (*PHONES, PHONES[0], SIZES[-1]):
        turn(page, size)
        assert page.run(graph) >= (0.6 if size in PHONES else 0.5)
        check_fit(page, size)
        picture(page, f"{name}-{size[0]}")
        shown = page.run("document.getElementById('menu-button').checkVisibility()")
        moved = "['facts', 'tools', 'legend'].filter(i => document.getElementById(i).closest('#bar')).length"
        assert shown == (size in PHONES) and page.run(moved) == (3 if shown else 0)
        if shown:
            page.click("#menu-button")
            check_fit(page, size)
            picture(page, f"{name}-{size[0]}-menu")
            assert page.run("document.getElementById('bar').getBoundingClientRect().bottom") <= size[1]
            page.key("Escape")
            assert page.run("[document.getElementById('bar').checkVisibility(), document.activeElement.id]") == [
                False, "menu-button"]


@pytest.mark.parametrize("size", PHONES)
def test_a_tap_says_what_a_frame_is_and_a_second_one_zooms(open_report, size):
    page = open_report("flamegraph", size)
    sheet = "document.getElementById('sheet')"
    row = page.run("""(() => { const g = report.graph, rows = g.rows.length;
        for (let y = 0; y < rows; y++) for (const b of g.rows[y])
            if (b.node >= 0 && g.name(g.view.label[b.node]) === 'Order.total') {
                document.getElementById('scroller').scrollTop = y * ROW - 60;
                const at = g.canvas.getBoundingClientRect();
                return [at.x + b.x + b.w / 2, at.y + (y + 0.5) * ROW - document.getElementById('scroller').scrollTop];
            } })()""")
    page.settle()
    page.tap(*row)
    assert crumbs(page) == ["all"] and not page.run(f"{sheet}.hidden")
    said = page.run(f"{sheet}.innerText")
    for words in ("Order.total", f"{OWN}:107", "107 return sum(line.price", "total", "self", "of its caller", "%"):
        assert words in said, said
    assert not re.search(NOTHING, said)
    assert page.run("document.getElementById('tip').hidden")
    assert page.run("document.getElementById('status').value").startswith("Order.total (")
    box = page.run(f"(r => [r.left, r.top, r.right, r.bottom])({sheet}.getBoundingClientRect())")
    assert not (box[0] < row[0] < box[2] and box[1] < row[1] < box[3])      # a second tap reaches the frame
    check_fit(page, size)
    picture(page, f"sheet-{size[0]}")
    page.tap(*row)
    assert page.run(f"{sheet}.hidden") and page.run("report.graph.nodeName(report.graph.zoom)") == "Order.total"
    picture(page, f"crumbs-{size[0]}")
    names = crumbs(page)
    assert names == ["all", "gunicorn (pid 4242)", "_run_module_as_main", "<module>", "_bootstrap",
                     "_bootstrap_inner", "run", "settle", "total"] or names[1].endswith("42)")
    assert len(set(names)) == len(names) and names[-3:] == ["run", "settle", "total"]
    last = page.run("(r => [r.left, r.right])(document.querySelector('#crumbs li:last-child').getBoundingClientRect())")
    assert 0 <= last[0] and last[1] <= size[0]
    assert page.run("[...document.querySelectorAll('#crumbs button')].every(b => b.scrollWidth <= b.clientWidth)")
    check_fit(page, size)
    page.key("Escape")
    page.settle()
    page.tap(*row)
    page.key("Escape")
    assert page.run(f"{sheet}.hidden")


def test_lanes_keep_the_end_of_a_name(open_report):
    page = open_report("flamegraph")
    lanes = "[...document.querySelectorAll('#lane-names button')]"
    for size in SIZES[::-1]:
        turn(page, size)
        page.run("(openTimeline(true), 0)")
        page.settle()
        assert page.run(f"{lanes}[0].offsetHeight") == (40 if size in PHONES else 18)
        names = page.run(f"{lanes}.map(b => b.textContent)")
        assert len(set(names)) == 12, names
        for pid in (4242, 5242, 6242):
            for end in ("_0", "_1", "_2"):
                assert any(re.fullmatch(rf"Thr.*{end} · {pid}", name) for name in names), names
        assert page.run(f"{lanes}.every(b => b.scrollWidth <= b.clientWidth)")
    assert page.run(f"{lanes}[0].title").startswith(("MainThread (tid", "ThreadPoolExecutor-0_"))


def test_several_processes_are_grouped_at_first(open_report):
    page = open_report("flamegraph")
    rows = page.run("report.graph.rows[1].map(b => report.graph.name(report.graph.view.label[b.node]))")
    assert sorted(rows) == ["celery -A shop worker (pid 6242)", "gunicorn (pid 4242)", "gunicorn (pid 5242)"]
    assert page.run("[document.getElementById('group').value, location.hash]") == ["process", ""]
    assert open_report("diff").run("report.graph.groupBy") == ""
    assert open_report("mem").run("report.graph.groupBy") == ""


def test_memory_over_time(open_report):
    """The steps are the books' at each second; nothing is said of samples."""
    page = open_report("mem")
    mib = 1 << 20
    held = [(8 + 1 + s / 16 + (4 if s < 30 else 0)) * mib for s in range(1, 61)]
    width, sums = page.run("[report.graph.memory.width, [...report.graph.memory.sums]]")
    assert len(sums) <= 512 and width * len(sums) == pytest.approx(60, abs=1)
    for second, want in enumerate(held, 1):
        assert sums[min(len(sums) - 1, int((second + 0.5) / width))] == pytest.approx(want, abs=2 * mib)
    peak = json.loads(TRACE.with_suffix(".sums.json").read_text())["total"]["peak_bytes"]
    assert sums[-1] == page.run("report.graph.view.a[0]") and max(sums) == peak
    facts = page.text("#facts")
    assert "held at the end 12.8 MiB" in facts and "Hz" not in facts and "every 1 ms" not in facts
    assert "checked every 1 s" in facts
    label = page.run("document.getElementById('time-canvas').ariaLabel")
    assert label == page.run("document.getElementById('time-range').value")
    assert re.fullmatch(r"Held over time: 12\.8 MiB at the end, peak 14\.\d MiB at 29\.\d s", label)
    page.hover(*page.run("(r => [r.x + r.width / 2, r.y + 30])(document.getElementById('time-canvas')"
                         ".getBoundingClientRect())"))
    assert re.fullmatch(r"1\d\.\d MiB\s+held at [23]\d(\.\d)? s", page.run("document.getElementById('tip').innerText"))
    for name in ("flamegraph", "diff"):
        assert open_report(name).run("report.graph.memory === undefined")


LINES = """[...document.querySelectorAll('#types li')].map(l => l.innerText.split('\\n'))"""
PATHS = """[...document.querySelectorAll('#types .line')].map(p => p.getAttribute('d'))"""


def test_types_of_objects_over_time(open_report):
    """The words are those of `mem`; a line goes through the counts that have the type."""
    page = open_report("types")
    assert page.run("document.querySelector('#types summary').innerText") == (
        "Objects that grew in 59 s: __main__.Session by 490 objects (49.8 KiB), and 11 other types")
    lines = page.run(LINES)
    assert lines[:4] == [
        ["__main__.Session", "+50.6 KiB/min", "1.02 KiB → 50.8 KiB, 10 → 500 objects"],
        ["bytearray", "+9.53 MiB/min", "195.9 KiB → 9.56 MiB, 10 → 500 objects"],
        ["str", "+1.45 MiB/min ± 3.18 KiB", "390.6 KiB → 1.81 MiB, 5,000 → 30,000 objects"],
        ["app.New", "+6.95 KiB/min ± 305 B", "few or none → 6.84 KiB, 7 objects"]]
    assert lines[9][:2] == ["<img src=x onerror=window.hacked=1>\\u202e" + "x" * 81, "−521 B/min"]
    assert lines[10:] == [["and 2 more"]]
    assert page.run("window.hacked === undefined && !document.querySelector('#types img')")
    numbers = [[float(n) for n in re.findall(r"[\d.]+", path.removesuffix("h.01"))] for path in page.run(PATHS)]
    assert [len(n) // 2 for n in numbers[:4]] == [2, 3, 3, 1]
    xs, ys = numbers[1][::2], numbers[1][1::2]
    assert (xs[1] - xs[0]) / (xs[2] - xs[0]) == pytest.approx(29 / 59, abs=0.01)
    assert (ys[0] - ys[1]) / (ys[0] - ys[2]) == pytest.approx((5114535 - 200570) / (10028500 - 200570), abs=0.01)
    page.click("#types summary")
    assert not page.run("document.querySelector('#types ul').checkVisibility()")
    turn(page, PHONES[0])
    page.click("#types summary")
    check_fit(page, PHONES[0])
    assert page.run("document.querySelector('#types ul').checkVisibility()")
    picture(page, "types-open")
    for name in ("flamegraph", "mem", "diff"):
        assert not open_report(name).run("document.getElementById('types').checkVisibility()")


# ---- what is read ----

NAMED = """[...document.querySelectorAll('[title], [aria-label]')].flatMap(e => [e.title, e.ariaLabel ?? ''])"""
EVERY_TIP = """(() => { const g = report.graph, out = new Set();
    for (const [inverted, byFunction, around] of [[0, 1, 0], [0, 0, 0], [1, 1, 0], [0, 1, 1]]) {
        Object.assign(g, { inverted: !!inverted, byFunction: !!byFunction, around: [] });
        g.reweigh();
        if (around) g.toggleAround();
        for (const row of g.rows) for (const box of row) {
            g.hover = { box };
            g.showTip(9, 9);
            out.add(document.getElementById('tip').textContent);
            if (box.node >= 0) g.showSheet(box.node, 9, 9);
            out.add(document.getElementById('sheet').textContent);
            g.showStatus();
            out.add(document.getElementById('status').value);
        }
        out.add(document.body.innerText);
    }
    return [...out]; })()"""


def test_no_tooltip_says_null(open_report):
    for name in ("flamegraph", "mem", "diff"):
        page = open_report(name)
        said = page.run(EVERY_TIP) + page.run(NAMED)
        assert len(said) > 20
        for text in said:
            assert not re.search(NOTHING, text), text
    page = open_report("flamegraph")
    left, top, right, bottom = page.run("(r => [r.left, r.top, r.right, r.bottom])(document.getElementById("
                                        "'time-canvas').getBoundingClientRect())")
    for share in (0.01, 0.4, 0.99):
        page.hover(left + share * (right - left), top + 5)
        assert not re.search(NOTHING, page.run("document.getElementById('tip').innerText"))
    for name in ("gil", "heatmap"):
        for text in open_report(name).run(NAMED):
            assert not re.search(NOTHING, text), text
    page.call("Page.bringToFront")
    page.hover(*where(page, "Order.total"))
    assert "107 return sum(line.price" in page.run("document.getElementById('tip').innerText")


def test_children_that_are_null_are_no_text(reports):
    """Only put() gives an element its children."""
    for path in reports.values():
        assert path.read_text().count(".replaceChildren(") == 1


def test_numbers_have_no_exponents(open_report):
    page = open_report("flamegraph")
    shares = {5e-5: "0.005%", 1e-9: "<0.0001%", 0: "0.00%", 2e-6: "0.0002%", 0.0123: "1.23%", 0.5: "50.0%",
              -5e-5: "-0.005%"}
    assert page.run(f"[{','.join(map(repr, shares))}].map(v => percent(v, 1))") == list(shares.values())
    assert page.run("[percent(1, 0), percent(NaN, 1), scaled(NaN, SIZES)]") == ["0.00%", "–", "–"]
    values = "[...Array(60).keys()].flatMap(i => [1, 1.2345, 9.9999].map(f => f * 10 ** (i - 20)))"
    for text in page.run(f"{values}.flatMap(v => [scaled(v, SIZES), seconds(v), percent(v, 100), count(v)])"):
        assert not re.search(NOTHING, text) and re.fullmatch(r"<?-?[\d,.]+ ?(%|[KMGT]?i?B|[nµm]?s|min|)", text), text


# ---- keys, and what is read aloud ----

def test_keys_lead_through_the_graph_and_are_told(open_report):
    page = open_report("flamegraph")
    page.run("document.getElementById('canvas').focus()")
    assert page.run("document.getElementById('status').ariaLive") == "polite"
    told = []
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowUp"):
        page.key(key)
        told.append(page.run("document.getElementById('status').value"))
    assert told[0].startswith("all: samples") and "(pid " in told[1] and told[1] != told[2]
    assert told[3].startswith("_run_module_as_main (<frozen runpy>:88): samples") and told[4] == told[2]
    page.key("Enter")
    assert crumbs(page)[-1] == told[2].split(": ")[0]
    page.key("Escape")
    assert crumbs(page) == ["all"]


@pytest.mark.parametrize("name", ["flamegraph", "gil", "heatmap"])
def test_focus_can_be_seen(open_report, name):
    """Of every control that Tab reaches."""
    page = open_report(name)
    seen = set()
    for _ in range(60):
        page.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        page.call("Input.dispatchKeyEvent", type="keyUp", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        tag, found, style, width = page.run("""(e => [e.tagName, e.id || e.textContent, getComputedStyle(e).outlineStyle,
            getComputedStyle(e).outlineWidth])(document.activeElement)""")
        if tag == "BODY" or found in seen:
            break
        seen.add(found)
        assert style == "solid" and width == "2px", (found, style, width)
    assert len(seen) >= 5


AXE = "4.14.1"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONES[0], SIZES[-1]])
@pytest.mark.parametrize("name", ["flamegraph", "mem", "types", "diff", "gil", "heatmap"])
def test_axe_finds_nothing_serious(open_report, name, size, scheme):
    """Also with the menu, the list of threads, the sheet and the help open."""
    source = (npm.package("axe-core", AXE) / "axe.min.js").read_text()
    page = open_report(name, size, scheme=scheme)
    page.run(f"{source}; 0")
    states = ["0", "openMenu(small.matches)", "document.getElementById('help').showModal()"]
    if name != "gil" and name != "heatmap":
        states[2:2] = ["openThreads(true)", "openThreads(false), report.graph.showSheet(1, 9, 9)"]
    for state in states:
        page.run(f"({state}, 0)")
        page.settle()
        found = page.run("axe.run(document, { resultTypes: ['violations'] }).then(r => r.violations.filter(v => "
                         "/serious|critical/.test(v.impact)).map(v => [v.id, v.nodes.map(n => n.html.slice(0, 200) + "
                         "n.failureSummary.slice(0, 300))]))")
        assert not found, (state, json.dumps(found, indent=1))
