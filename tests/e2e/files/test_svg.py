# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The flame graph as one SVG file: what it has without a script, and zoom and search in a browser."""
import collections
import re
import xml.etree.ElementTree as xml

import pytest

import make_tach
from browser import picture
from captures import GOLDEN, stacks
from command import good

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "=\"a,\\b'\n\x1b[31m;‮<script>alert(1)</script>]]>&amp;￿ (x)--y"
# What is seen: [name, left, width, in pixels], of frames that are not hidden.
SEEN = """[...document.querySelectorAll('.f')].filter(e => getComputedStyle(e).display !== 'none')
    .map(e => { const r = e.querySelector('rect').getBoundingClientRect();
        return [e.querySelector('title').textContent.split(' (')[0].split('\\n')[0], Math.round(r.x),
                Math.round(r.width)]; })"""


def frames(path):
    """(function and file, samples, left, width, y) of each frame; the numbers as in the file."""
    for e in xml.parse(path).getroot().iter(f"{SVG}svg"):
        if e.get("class") == "f":
            said = e.find(f"{SVG}title").text.split("\n")
            yield (said[0], int(re.match(r"[\d,]+", said[1])[0].replace(",", "")),
                   float(e.get("x")[:-1]), float(e.get("width")[:-1]), int(e.get("y")))


def stacks_of(path):
    """{names root first: samples} of the picture: a frame is below the one that contains it."""
    above, own = {}, collections.Counter()
    for said, cnt, x, w, y in sorted(frames(path), key=lambda f: (f[4], f[2])):
        parents = [p for p in above.get(y - 17, ()) if p[0] <= x + 1e-6 and x + w <= p[1] + 1e-6]
        assert len(parents) == (y > 60), said
        below = parents[0][2] if parents else ()
        stack = (*below, said.split(" (")[0])
        above.setdefault(y, []).append((x, x + w, stack))
        own[stack] += cnt
        own[below] -= cnt
    del own[()]
    return +own


@pytest.mark.parametrize("name", ["cpu_raw.bin", "wall_zstd.bin", "native_opcodes.bin", "deep400.bin"])
def test_svg_has_the_samples_of_every_stack(export, name):
    want = collections.Counter()
    text = good("convert", GOLDEN / name, "--format", "collapsed", "--no-lines", "--by", "process")
    for stack, cnt in stacks(text).items():
        want[("all", *(w.split(" (")[0].split(":")[-1] for w in stack.split(";")))] += cnt
    assert stacks_of(export(name, "svg")) == want
    text = export(name, "svg").read_text()
    assert "http" not in text.replace("http://www.w3.org/", "") and text.count("<script>") == 1


def test_svg_is_the_same_each_time_and_has_lines(export, tmp_path):
    first = export("cpu_raw.bin", "svg").read_bytes()
    good("convert", GOLDEN / "cpu_raw.bin", "-o", tmp_path / "cpu_raw.svg")
    assert (tmp_path / "cpu_raw.svg").read_bytes() == first
    good("convert", GOLDEN / "cpu_raw.bin", "--lines", "--by", "thread", "-o", tmp_path / "lines.svg")
    said = [f[0] for f in frames(tmp_path / "lines.svg")]
    assert len(said) > first.count(b'class="f"') and any(re.fullmatch(r"thread \d+", s) for s in said)


def hostile(path):
    w = make_tach.Writer()
    at = w.stack([(HOSTILE, HOSTILE, 3), ("/x/\udcff.py".encode("utf-8", "surrogateescape").decode("latin-1"), "f", 1)])
    w.add(at)
    w.write(path)
    return path


def test_hostile_names_are_only_text(browser, tmp_path):
    good("convert", hostile(tmp_path / "x.tach"), "-o", tmp_path / "x.svg")
    named = [f[0] for f in frames(tmp_path / "x.svg")]
    assert len(named) == 3 and any("<script>alert(1)</script>" in n and "\\x1b[31m" in n for n in named)
    page = browser.open(tmp_path / "x.svg", wait=False)
    page.until("document.querySelectorAll('.f').length === 3")
    assert not page.faults and page.requests == [f"file://{tmp_path / 'x.svg'}"]
    page.close()


@pytest.fixture
def page(browser, tmp_path):
    out = tmp_path / "x.svg"
    good("convert", GOLDEN / "cpu_raw.bin", "-o", out)
    page = browser.open(out, wait=False)
    page.until("document.readyState === 'complete'")
    yield page
    assert page.requests == [f"file://{out}"] and not page.faults
    page.close()


def middle(page, name):
    return page.run(f"""(() => {{ const e = [...document.querySelectorAll('.f')].find(e =>
        e.querySelector('title').textContent.startsWith('{name} ')).querySelector('rect')
        .getBoundingClientRect(); return [e.x + e.width / 2, e.y + e.height / 2]; }})()""")


def shown(page, selector):
    return page.run(f"getComputedStyle(document.querySelector('{selector}')).display !== 'none'")


def test_zoom(page):
    before = page.run(SEEN)
    width = before[0][2]
    assert before[0][:2] == ["all", 0] and not shown(page, ".reset")
    page.click_at(*middle(page, "garbage"))
    seen = {name: (x, w) for name, x, w in page.run(SEEN)}
    # The frame and its callers fill the width; its siblings are gone.
    assert seen["garbage"] == seen["all"] == seen["Thread.run"] == (0, width)
    assert "deep" not in seen and 0 < seen["<GC>"][1] < width / 2
    assert page.run("document.querySelectorAll('.above').length") == 4
    picture(page, "svg-zoom")
    page.click(".reset")
    assert page.run(SEEN) == before and not shown(page, ".reset")
    page.click_at(*middle(page, "garbage"))
    page.key("Escape")
    assert page.run(SEEN) == before


def test_search(page):
    page.call("Input.dispatchKeyEvent", type="keyDown", key="f", code="KeyF", windowsVirtualKeyCode=70, modifiers=2)
    page.settle()
    page.type("^ga|gens")
    hits = "[...document.querySelectorAll('.hit title')].map(e => e.textContent.split(' ')[0])"
    assert set(page.run(hits)) == {"garbage", "gens"}
    shares = {name: w for name, _, w in page.run(SEEN)}
    said = page.text(".matched")
    assert abs(float(said.split()[1]) - 100 * (shares["garbage"] + shares["gens"]) / shares["all"]) < 0.2
    # A share counts once: each frame of the recursion is marked.
    page.run("document.querySelector('input').value = ''")
    page.type("deep|thread[.]run|(")
    assert page.text(".matched") == "matched: 0.00 %"       # no expression, so it is text
    page.key("Escape")
    assert not page.run(hits) and not page.run("!!document.querySelector('input')") and not page.text(".matched")
    page.click(".search")
    page.type("mix.py")
    assert 0 < float(page.text(".matched").split()[1]) <= 100
    picture(page, "svg-search")


def test_a_frame_is_described_where_the_mouse_is(page):
    facts = page.text(".status")
    page.hover(*middle(page, "garbage"))
    assert re.fullmatch(r"garbage \(/w/fx/mix.py:\d+\): 230 samples, 49.25 %", page.text(".status"))
    page.hover(600, 30)
    assert page.text(".status") == facts == "467 samples"


def test_without_a_script_it_is_complete(browser, tmp_path):
    out = tmp_path / "x.svg"
    good("convert", GOLDEN / "cpu_raw.bin", "-o", out)
    out.write_text(re.sub(r"<script>.*</script>", "", out.read_text(), flags=re.S))
    page = browser.open(out, wait=False)
    page.until("document.readyState === 'complete'")
    assert page.run(SEEN)[0][0] == "all" and not shown(page, ".search") and not shown(page, ".reset")
    assert page.run("getComputedStyle(document.querySelector('.f text')).display") != "none"
    page.close()
