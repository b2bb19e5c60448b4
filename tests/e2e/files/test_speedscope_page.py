# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""speedscope's own page in a real browser: what it shows of an export."""
import base64
import collections
import json
import re

import pytest

import speedscope
from browser import picture
from captures import GOLDEN, stacks
from command import good

NAME = "wall_zstd"
# The page says what it does, and software WebGL that it is slow.
HARMLESS = ("console.log:", "console.time:", "console.timeEnd:", "log.warning:", "log.info:",
            "log.verbose:")
UNITS = {"ns": 1e-3, "µs": 1, "ms": 1e3, "s": 1e6}
# Cells of the list of profiles, which is hidden until asked for, and of the sandwich.
CELLS = """[...document.querySelectorAll("tr")].filter(r => r.querySelectorAll("td").length == 3
    && (r.offsetParent !== null) == %s)
    .map(r => [...r.querySelectorAll("td")].map(c => c.textContent.trim()))"""
LISTED, SHOWN = CELLS % "false", CELLS % "true"
CHART = "[...document.querySelectorAll('canvas')].at(-1).getBoundingClientRect()"


def opened(browser, directory, name):
    index = speedscope.package() / "dist" / "release" / "index.html"
    out = directory / "profile.json"
    good("replay", GOLDEN / f"{name}.bin", "--format", "speedscope", "-o", out)
    # What speedscope's command writes: a script that hands the file to the page.
    script = directory / "profile.js"
    script.write_text("speedscope.loadFileFromBase64(%s, %s)" % (
        json.dumps(out.name), json.dumps(base64.b64encode(out.read_bytes()).decode())))
    page = browser.open(f"file://{index}#localProfilePath={script}", height=1400, wait=False)
    page.until("document.querySelectorAll('canvas').length >= 3")
    page.settle()
    page.profile = json.loads(out.read_text())
    return page


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    page = opened(browser, tmp_path_factory.mktemp("speedscope"), NAME)
    yield page
    page.settle()
    assert not [f for f in page.faults if not f.startswith(HARMLESS)]
    assert all(url.startswith("file://") for url in page.requests)


def choose(page, i):
    """The profile with this index, by the keys for the next and the one before."""
    def current():
        return int(re.search(r"\((\d+)/\d+\)", page.run("document.body.innerText"))[1]) - 1
    while current() != i:
        page.key("n" if current() < i else "p")


def shows(text, us):
    """Whether a time as the page writes it is this many µs, to the digits that it has."""
    number, unit = re.match(r"([\d.]+)(ns|µs|ms|s)", text).groups()
    return abs(float(number) * UNITS[unit] - us) <= 0.00501 * UNITS[unit]


def weights(profile):
    """(idle µs before the first stack, {stack: µs})"""
    counter = collections.Counter()
    for stack, weight in zip(profile["samples"], profile["weights"]):
        counter[tuple(stack)] += weight
    return 0 if profile["samples"][0] else profile["weights"][0], counter


def test_the_busiest_thread_is_shown_first(browser, tmp_path):
    info, = json.loads(good("info", "--json", GOLDEN / "cpu_raw.bin"))["files"]
    busiest = f"thread {max(info['threads'], key=lambda t: t['on_cpu'])['thread']}"
    page = opened(browser, tmp_path, "cpu_raw")
    names = [p["name"] for p in page.profile["profiles"]]
    i = names.index(busiest)
    assert i > 0 and page.profile["activeProfileIndex"] == i
    assert f"{busiest} ({i + 1}/{len(names)})" in page.run("document.body.innerText")
    page.close()


def test_every_thread_is_listed_with_its_time(page):
    tids = {int(stack.split(";")[0].removeprefix("tid:"))
            for stack in stacks((GOLDEN / f"{NAME}.collapsed").read_text())}
    assert page.run("document.title") == f"{page.profile['name']} - speedscope"
    rows = page.run(LISTED)
    assert sorted(row[1] for row in rows) == sorted(f"thread {tid}" for tid in tids)
    # The list has the time with a stack.
    for (_, name, total), profile in zip(rows, page.profile["profiles"], strict=True):
        _, counter = weights(profile)
        assert name == profile["name"]
        assert shows(total, sum(w for s, w in counter.items() if s)), (name, total)


def test_flame_charts_begin_when_their_threads_do(page):
    page.key("1")
    profiles = page.profile["profiles"]
    late = 0
    for i, profile in enumerate(profiles):
        choose(page, i)
        assert f"{profile['name']} ({i + 1}/{len(profiles)})" in page.run("document.body.innerText")
        picture(page, f"speedscope-{i}")
        idle, counter = weights(profile)
        x, y, width = page.run(f"(r => [r.x, r.y, r.width])({CHART})")
        start = x + width * idle / profile["endValue"]
        outermost = {page.profile["shared"]["frames"][s[0]]["name"] for s in counter if s}
        page.hover(start + 5, y + 32)               # the first row is below the axis
        page.settle()
        text = page.run("document.body.innerText")
        assert any(name in text for name in outermost), (profile["name"], text)
        if start - x > 10:
            late += 1
            page.hover(start - 5, y + 32)
            page.settle()
            text = page.run("document.body.innerText")
            assert not any(name in text for name in outermost), (profile["name"], text)
    assert late


def test_sandwich_has_the_time_of_every_function(page):
    page.key("3")
    for i, profile in enumerate(page.profile["profiles"]):
        choose(page, i)
        page.settle()
        own, total = collections.Counter(), collections.Counter()
        for stack, weight in weights(profile)[1].items():
            for frame in set(stack):
                total[frame] += weight
            if stack:
                own[stack[-1]] += weight
        want = collections.defaultdict(list)
        for frame, weight in total.items():
            want[page.profile["shared"]["frames"][frame]["name"]].append((weight, own[frame]))
        rows = page.run(SHOWN)
        assert len(rows) == len(total)
        for total_text, own_text, name in rows:
            match = next((w for w in want[name]
                          if shows(total_text, w[0]) and shows(own_text, w[1])), None)
            assert match, (profile["name"], name, total_text, own_text, want[name])
            want[name].remove(match)
        assert not any(want.values())
    picture(page, "speedscope-sandwich")
