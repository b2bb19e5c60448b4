# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The heat map in a real browser: the heat of lines and expressions, and which sources it reads."""
import collections
import json
import os
import shutil
import subprocess
import tempfile

import pytest

import interpreters
import make_tach
from browser import picture
from captures import DECODED, GOLDEN, said
from html_reports import CAPTURES, samples, self_of
from present import absent
from processes import TIMEOUT


def lines_of(page):
    return {f[0]: {at: (t, s) for at, t, s in f[1]} for f in page.run(
        """report.map.profile.files.map(f => [f.name, f.sampled.map(l => [l.at, l.total, l.self])])""")}


def is_source(file):
    return file not in ("~", ".", "...", "") and file[0] not in "<["


@pytest.mark.parametrize("name", DECODED)
def test_heat_of_lines(show, name):
    want = collections.defaultdict(dict)
    places, leaves = collections.Counter(), collections.Counter()
    for *_, stack in samples(name):
        places.update({(f, line) for f, _, line in stack if is_source(f)})
        leaves[self_of(stack)[0], self_of(stack)[2]] += 1
    for (file, line), n in places.items():
        want[file][line] = (n, leaves[file, line])
    assert lines_of(show(GOLDEN / f"{name}.bin", report="heatmap")) == want


# HeatmapCollector's own counters, whether or not there is a source to show them in.
CPYTHON_HEAT = """
import json, sys
from profiling.sampling.binary_reader import BinaryReader
from profiling.sampling.heatmap_collector import HeatmapCollector
collector = HeatmapCollector(1000)
with BinaryReader(sys.argv[1]) as reader:
    reader.replay_samples(collector)
print(json.dumps({f: {line: (n, collector.file_self_samples.get(f, {}).get(line, 0))
                      for line, n in lines.items()}
                  for f, lines in collector.file_samples.items()}))
"""


@pytest.fixture(scope="module")
def cpython():
    """Runs CPython 3.15 on a script; files go through a directory that it sees too."""
    root = interpreters.sid_root()
    if os.geteuid() or not os.path.exists(f"{root}/usr/bin/python3.15"):
        absent(f"no python3.15 in {root} to compare with, or not root")
    with tempfile.TemporaryDirectory(dir=f"{root}/tmp") as scratch:
        def run(script, path):
            shutil.copy(path, scratch)
            inside = f"/tmp/{os.path.basename(scratch)}/{os.path.basename(path)}"
            return subprocess.run(["chroot", root, "python3.15", "-c", script, inside], text=True,
                                  capture_output=True, check=True, timeout=TIMEOUT).stdout
        yield run


@pytest.mark.parametrize("name", CAPTURES)
def test_heat_is_what_cpython_says(show, cpython, name):
    theirs = json.loads(cpython(CPYTHON_HEAT, GOLDEN / f"{name}.bin"))
    want = {(f, max(int(line), 0)): tuple(n) for f, lines in theirs.items() if is_source(f)
            for line, n in lines.items()}
    page = lines_of(show(GOLDEN / f"{name}.bin", report="heatmap"))
    got = {(f, line): n for f, lines in page.items() for line, n in lines.items()}
    assert {at: total for at, (total, _) in got.items()} == {at: total for at, (total, _) in want.items()}
    # Theirs is nobody's self if something is on top of the function; ours is that of its line.
    on_top, lines = 0, {(os.path.basename(f), str(line)) for f, line in want}
    for words, n in said(name).items():
        stack = [word.rsplit(":", 2) for word in words[1]]
        below = next((w for w in reversed(stack) if len(w) == 3), ["", "", ""])
        on_top += n if len(stack[-1]) < 3 and (below[0], below[2]) in lines else 0
    assert all(got[at][1] >= theirs for at, (_, theirs) in want.items())
    assert sum(s for _, s in got.values()) - sum(s for _, s in want.values()) == on_top


SOURCE = """#!/usr/bin/python3
def größe(x):
    return "ä€𝔘" + foo(x, bar(x)) + baz(x)
\tx = 1  # </script>
"""


@pytest.fixture
def sourced(tmp_path):
    """A profile of a source file that is there, and of things that are none."""
    source = tmp_path / "app.py"
    source.write_text(SOURCE)
    line = SOURCE.splitlines()[2].encode()

    def span(text):
        return line.index(text.encode()), line.index(text.encode()) + len(text.encode())

    w = make_tach.Writer()
    for text, n in (("foo(x, bar(x))", 7), ("bar(x)", 5), ("baz(x)", 3)):
        for _ in range(n):
            w.add(w.stack([(str(source), "größe", 3, 3, *span(text)), (str(source), "<module>", 4)]))
    os.mkfifo(tmp_path / "fifo.py")
    (tmp_path / "secret").write_text("password\n")
    (tmp_path / "link.py").symlink_to("secret")
    (tmp_path / "large.py").write_text("x = 1\n" * 1000000)
    (tmp_path / "script").write_text("#!/usr/bin/env python3\nrun()\n")
    others = {"fifo.py": 3, "secret": 5, "link.py": 5, "large.py": 4, "gone.py": 2, "script": 0}
    for name in others:
        w.add(w.stack([(str(tmp_path / name), "f", 1)]))
    for name in ("/dev/zero", "/proc/kmsg", "/proc/self/environ", "relative.py"):
        w.add(w.stack([(name, "f", 1)]))
    w.write(tmp_path / "x.tach")
    return tmp_path, others


def test_heat_map_reads_sources_and_nothing_else(show, sourced):
    where_, others = sourced
    page = show(where_ / "x.tach", report="heatmap")
    states = dict(page.run("report.map.profile.files.map(f => [f.name, f.state])"))
    for name, state in others.items():
        assert states[str(where_ / name)] == state, name
    assert states["/dev/zero"] == states["relative.py"] == 3
    assert states["/proc/kmsg"] == states["/proc/self/environ"] == 5
    page = show(where_ / "x.tach", report="heatmap", more=["--no-source"])
    assert set(page.run("report.map.profile.files.map(f => f.state)")) == {1}


def test_expressions_by_columns(show, sourced):
    page = show(sourced[0] / "x.tach", report="heatmap")
    assert page.text("#file-name").endswith("/app.py")
    spans = page.run("""[...document.querySelectorAll('[data-line="3"] .span')].map(s =>
        [s.textContent, +s.dataset.self, +s.dataset.total])""")
    assert spans == [["foo(x, ", 7, 7], ["bar(x)", 5, 5], [")", 7, 7], ["baz(x)", 3, 3]]
    assert page.text('[data-line="3"] .code') == SOURCE.splitlines()[2]
    assert page.text('[data-line="4"] .code').lstrip() == "x = 1  # </script>"
    assert page.text('[data-line="3"] .self') == "15" and page.text('[data-line="4"] .total') == "15"
    assert page.text('[data-line="4"] .self') == ""
    page.key("/")
    page.type("x = ")
    assert page.run("document.querySelector('[data-line=\"4\"] mark').textContent") == "x = "
    page.key("Enter")
    assert page.run("report.map.current") == 4
    picture(page, "heatmap")


def test_heat_map_keys(show, sourced):
    page = show(sourced[0] / "x.tach", report="heatmap")
    assert page.run("report.map.current") == 3      # the hottest line
    page.key("s")
    assert page.run("report.map.by") == "total"
    page.key("n")
    assert page.run("report.map.current") == 4
    page.key("p")
    assert page.run("report.map.current") == 3
    first = page.text("#file-name")
    page.key("j")
    assert page.text("#file-name") != first
    page.key("k")
    assert page.text("#file-name") == first


@pytest.fixture
def long_source(tmp_path):
    """A profile of two files: one is only passed through, the other is long, its last line the hottest."""
    (tmp_path / "main.py").write_text("import work\nwork.run()\n")
    (tmp_path / "work.py").write_text("x = 1\n" * 400)
    w = make_tach.Writer()
    for line in (*range(1, 400), 400, 400):
        w.add(w.stack([(str(tmp_path / "work.py"), "run", line),
                       (str(tmp_path / "main.py"), "<module>", 2)]))
    w.write(tmp_path / "x.tach")
    return tmp_path / "x.tach"


@pytest.mark.parametrize("width,height", [(390, 844), (1280, 800)])
def test_the_heat_map_scrolls_on_a_phone(show, long_source, width, height):
    page = show(long_source, report="heatmap", width=width, height=height)
    of_source, visible = page.run("""(e => [e.scrollHeight, e.clientHeight])(
        document.getElementById('scroller'))""")
    assert of_source >= 400 * 20 > height > visible
    assert page.run("document.documentElement.scrollHeight") == height
    # It opens on the file with the hottest line, which is in view; a wheel moves away from it.
    assert page.text("#file-name").endswith("/work.py") and page.run("report.map.current") == 400
    box = page.run("""(r => [r.top, r.bottom])(document.querySelector('[data-line="400"]')
        .getBoundingClientRect())""")
    assert 0 < box[0] < box[1] < height
    before = page.run("document.getElementById('scroller').scrollTop")
    assert before > 0
    page.call("Input.dispatchMouseEvent", type="mouseWheel", x=width // 2, y=height - 100, deltaX=0,
              deltaY=-200)
    page.until(f"document.getElementById('scroller').scrollTop < {before}")
    picture(page, f"heatmap-{width}")


def test_a_source_that_has_changed_is_told(show, tmp_path):
    (tmp_path / "a.py").write_text("one = 1\n")
    w = make_tach.Writer()
    w.add(w.stack([(str(tmp_path / "a.py"), "f", 9)]))
    w.write(tmp_path / "x.tach")
    page = show(tmp_path / "x.tach", report="heatmap")
    assert "has changed" in page.text("#note")
    assert page.text('[data-line="9"] .code') == "in f"


# ---- whose files ----

OWNED = {       # file: (owner, samples)
    "/srv/app/main.py": ("own", 5), "job.py": ("own", 1), "/home/u/.venv/bin/tool.py": ("own", 2),
    "/home/u/.venv/lib/python3.12/site-packages/web/server.py": ("package", 9),
    "/usr/lib/python3/dist-packages/apt/cache.py": ("package", 3),
    "/usr/lib64/python3.12/json/decoder.py": ("standard", 20), "/usr/bin/apt-tool": ("other", 4)}


def listed(page):
    return page.run("""[...document.querySelectorAll('#files > li')].map(l => l.className === 'owner' ?
        l.querySelector('.name').textContent + ' ' + l.querySelector('.number').textContent :
        l.querySelector('button').title)""")


@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_files_are_grouped_yours_first(show, tmp_path, width, scheme):
    w = make_tach.Writer()
    for file, (_, cnt) in OWNED.items():
        stack = w.stack([(file, "f", 3)])
        for _ in range(cnt):
            w.add(stack)
    w.write(tmp_path / "5-app.tach")
    page = show(tmp_path / "5-app.tach", report="heatmap", width=width, scheme=scheme)
    picture(page, f"heatmap-owners-{width}")
    names = {"own": "Your code", "package": "Packages", "standard": "Standard library", "other": "Other"}
    wanted, everything = [], sum(cnt for _, cnt in OWNED.values())
    for owner, name in names.items():
        own = sorted(((cnt, f) for f, (o, cnt) in OWNED.items() if o == owner), reverse=True)
        share = 100 * sum(cnt for cnt, _ in own) / everything
        wanted += [f"{name} self {share:.{1 if share >= 10 else 2}f}%", *(f for _, f in own)]
    assert listed(page) == wanted
    page.run("document.querySelector('[data-owner=own]').click()")
    assert listed(page) == wanted[:1] + wanted[4:]
    assert page.run("document.activeElement.ariaExpanded") == "false"
    page.run("""(f => { f.value = 'web'; f.dispatchEvent(new Event('input')); })(
        document.getElementById('file-filter'))""")
    assert [x for x in listed(page) if x.startswith("/")] == [
        "/home/u/.venv/lib/python3.12/site-packages/web/server.py"]
    assert page.run("document.documentElement.scrollWidth") <= width


def test_both_pages_judge_alike(show, tmp_path):
    """Whose code a file is says one function, in both."""
    w = make_tach.Writer()
    for file in OWNED:
        w.add(w.stack([(file, "f", 3)]))
    w.write(tmp_path / "5-app.tach")
    for report in ("flamegraph", "heatmap"):
        page = show(tmp_path / "5-app.tach", report=report)
        assert page.run(f"{json.dumps(list(OWNED))}.map(ownerOf)") == [o for o, _ in OWNED.values()]
    page = show(tmp_path / "5-app.tach")
    page.key("c")
    names = page.run("report.graph.tableRows().map(r => report.graph.fileName(r.label))")
    assert sorted(names) == sorted(f for f, (o, _) in OWNED.items() if o == "own")
