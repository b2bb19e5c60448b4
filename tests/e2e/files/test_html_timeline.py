# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The flame graph's timeline: that a time range recounts exactly, and how it is chosen."""
import collections

import pytest

import make_tach
from browser import picture
from captures import DECODED, GOLDEN, samples_of
from html_reports import counted, replay, table, total

BINS = "(t => [t.first, t.width, t.cnt])(report.graph.model.times)"
SHOWN = "!document.getElementById('timeline').hidden"


def select(page, low, high):
    page.run(f"(report.graph.timeline.select({low}, {high}), 0)")


def chosen(page):
    return page.run("report.graph.time && [report.graph.time.from, report.graph.time.to]")


def timed(name):
    """(time in µs, thread, status, stack root first)"""
    return [(time, tid, status, tuple(reversed(frames)))
            for tid, time, status, frames in samples_of(f"{name}.lines.txt")]


@pytest.mark.parametrize("name", DECODED)
def test_a_time_range_counts_the_samples_of_its_time(show, name):
    page = show(GOLDEN / f"{name}.bin")
    first, width, cnt = page.run(BINS)
    samples = timed(name)
    width = round(width * 1e6)
    assert first == min(s[0] for s in samples) // width
    assert cnt == max(s[0] for s in samples) // width - first + 1
    for low, high in ((0, cnt // 3), (cnt // 3, cnt // 2), (cnt // 2, cnt), (7, 8)):
        select(page, low, high)
        inside = [s for time, *_, s in samples if low <= time // width - first < high]
        assert total(page) == len(inside)
        assert table(page) == counted(inside)
    page.click("#time-all")
    assert chosen(page) is None and total(page) == len(samples)


def test_lanes_have_each_threads_states(show, tmp_path):
    """Runs with the GIL, then waits for it, then sleeps, then collects, 250 ms each; another runs in C."""
    w = make_tach.Writer()
    stack, gc = w.stack([("a.py", "f", 1)]), w.stack([("~", "<GC>", -1), ("a.py", "f", 1)])
    for i in range(1000):
        w.add((stack, stack, stack, gc)[i // 250], tid=7, status=(3, 8, 0, 3)[i // 250], time_us=1000 * i)
        w.add(stack, tid=8, status=2, time_us=1000 * i)
    w.write(tmp_path / "5-app.tach", mode="wall", start_us=10**9)
    page = show(tmp_path / "5-app.tach")
    picture(page, "timeline")
    _, width, cnt = page.run(BINS)
    assert (width, cnt) == (0.001, 1000)        # an interval each
    lanes = page.run("report.graph.timeline.lanes.map(l => l.name)")
    assert sorted(lanes) == ["thread 7", "thread 8"]
    for quarter, state in enumerate((1, 4, 5, 0)):
        for lane, expected in (("thread 7", state), ("thread 8", 2)):
            shares = page.run(f"Array.from(report.graph.timeline.shares({lanes.index(lane)}, "
                              f"{quarter * 250}, {quarter * 250 + 250}))")
            assert shares == [float(s == expected) for s in range(6)]
    assert page.text("#time-legend") == ("garbage collectionrunning Python with the GILon CPU without the GIL"
                                         "waiting for the GILwaiting")


def test_the_brush(show):
    """Drag: a range. Its ends and its inside can be dragged, too; a click is all time again."""
    page = show(GOLDEN / "wall_zstd.bin")
    everything = total(page)
    _, _, cnt = page.run(BINS)
    left, top, width = page.run("(r => [r.x, r.y, r.width])(document.getElementById('time-canvas')"
                                ".getBoundingClientRect())")

    def drag(start, end):
        def mouse(kind, share):
            page.call("Input.dispatchMouseEvent", type=kind, x=left + share * width, y=top + 8, button="left",
                      buttons=1, clickCount=1)

        mouse("mouseMoved", start)
        mouse("mousePressed", start)
        mouse("mouseMoved", (start + end) / 2)
        mouse("mouseMoved", end)
        mouse("mouseReleased", end)
        page.settle()
        return [round(b / cnt, 2) for b in chosen(page)]

    assert drag(0.2, 0.4) == pytest.approx([0.2, 0.4], abs=0.011)
    part = total(page)
    assert 0 < part < everything
    assert drag(0.4, 0.6) == pytest.approx([0.2, 0.6], abs=0.021)
    assert total(page) > part
    assert drag(0.3, 0.5) == pytest.approx([0.4, 0.8], abs=0.031)
    picture(page, "brush")
    assert "bins of" in page.text("#time-range") and "–" in page.run("document.getElementById('time-range').value")
    page.click_at(left + 0.1 * width, top + 8)
    assert chosen(page) is None and total(page) == everything


def test_by_keyboard(show):
    page = show(GOLDEN / "wall_zstd.bin")
    everything = total(page)
    _, _, cnt = page.run(BINS)
    page.key("w")
    assert page.run("document.activeElement.id") == "time-canvas"
    page.key("ArrowRight")
    low, high = chosen(page)
    assert (low, high) == (0, max(1, round(cnt / 10)))
    page.key("ArrowRight")
    step = max(1, round(cnt / 100))
    assert chosen(page) == [step, high + step]
    page.key("Home")
    assert chosen(page) == [0, high]
    page.key("Escape")
    assert chosen(page) is None and total(page) == everything


def test_a_lane_chooses_its_thread(show):
    page = show(GOLDEN / "cpu_raw.bin")
    threads = collections.Counter(tid for _, tid, *_ in timed("cpu_raw"))
    for i, name in enumerate(page.run("report.graph.timeline.lanes.map(l => l.name)")):
        page.run(f"document.querySelectorAll('#lane-names button')[{i}].click()")
        assert total(page) == threads[int(name.split()[1].rstrip(","))]
    page.run("[...document.querySelectorAll('#lane-names button')].at(-1).click()")
    assert total(page) == sum(threads.values())


def test_a_link_has_the_time_range(browser, show):
    page = show(GOLDEN / "wall_zstd.bin")
    select(page, 20, 45)
    page.until("location.hash.includes('time=')")
    wanted, address = total(page), page.run("location.href")
    again = browser.open(address, wait=False)
    again.until("window.report && report.ready")
    assert chosen(again) == [20, 45] and total(again) == wanted
    for text in ("time=5-1", "time=99999999999999-999999999999999", "time=-1-2", "time=a-b"):
        again.run(f"(location.hash = '{text}', 0)")
        again.until("report.graph.time === null")
    assert not again.faults
    again.close()


def test_many_threads_share_the_last_lane(show, tmp_path):
    w = make_tach.Writer()
    stack = w.stack([("a.py", "f", 1)])
    for i in range(200):
        for k in range(i + 1):
            w.add(stack, tid=1000 + i)
    w.write(tmp_path / "5-app.tach", start_us=10**9)
    page = show(tmp_path / "5-app.tach")
    lanes = page.run("report.graph.timeline.lanes.map(l => l.name)")
    assert len(lanes) == 60 and lanes[0] == "thread 1199" and lanes[-1] == "141 more threads"
    height = page.run("document.getElementById('lanes').clientHeight")
    assert height <= 150                        # they scroll


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits(show, width, scheme):
    page = show(GOLDEN / "wall_zstd.bin", width=width, height=800, scheme=scheme)
    select(page, 10, 30)
    picture(page, f"timeline-{width}-{scheme}")
    assert page.run("document.documentElement.scrollWidth") <= width
    right = page.run("document.getElementById('time-canvas').getBoundingClientRect().right")
    assert width - 30 < right <= width
    assert page.run("document.getElementById('scroller').clientHeight") > 150


def test_without_times_there_is_none(show, tmp_path):
    """Collapsed stacks and a file made of them; a comparison."""
    (tmp_path / "x.collapsed").write_text("tid:1;a.py:f:1 5\ntid:2;a.py:g:2 3\n")
    make_tach.synthetic(tmp_path / "5-app.tach", 10, 100, 5)
    for path in (tmp_path / "x.collapsed", tmp_path / "5-app.tach"):
        page = show(path)
        assert not page.run(SHOWN) and page.run("report.graph.model.times") is None
        page.key("w")
        page.key("Escape")
        assert total(page) > 0


@pytest.mark.parametrize("jobs", [True, False])
def test_the_page_of_400000_samples_is_small(tmp_path, jobs):
    """Times and all: at most 400 KB, of stacks 60 deep; also if each sample is chosen at random."""
    make_tach.synthetic(tmp_path / "5-app.tach", 5000, 400000, 60, jobs=jobs, start_us=10**9)
    size = replay(tmp_path / "x.html", tmp_path / "5-app.tach").stat().st_size
    print(f"{size} bytes")
    assert size <= 400000
