# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The flame graph's callers and callees of a function (sandwich)."""
import collections
import random

import pytest

import make_tach
from browser import picture
from captures import DECODED, GOLDEN
from html_reports import counted, crumbs, replay, samples, table, where

# [path from the function outwards, weight] of all callers, or of all callees.
PATHS = """(() => { const g = report.graph, v = g.view, out = [];
    const name = (n) => [g.fileName(v.label[n]), g.tree.func(v.label[n])];
    (function walk(nodes, path) { for (const n of nodes) {
        const p = [...path, name(n)]; out.push([p, v.a[n]]); walk(v.kids(n), p); } })(%s, []);
    return out; })()"""


def paths(page, kind):
    return {tuple(map(tuple, p)): w for p, w in page.run(PATHS % kind)}


def around(page, function):
    page.run(f"""(g => g.goAround(Array.from(g.tree.labelOf).find(l => g.tree.func(l) === '{function}')))(
        report.graph)""")


def recursive(path):
    """main > a > b > a > b ..., of many depths."""
    rnd, w, stacks = random.Random(3), make_tach.Writer(), []
    for _ in range(300):
        names = ["main"] + [rnd.choice("aabc") for _ in range(rnd.randrange(9))]
        stacks.append(tuple((f"/srv/{n}.py", n, 1 + rnd.randrange(3)) for n in names))
        w.add(w.stack(stacks[-1][::-1]))
    w.write(path)
    return stacks


@pytest.mark.parametrize("name", [*DECODED, "recursive"])
@pytest.mark.parametrize("nth", [0, 1, 2, 5])
def test_callers_and_callees(show, tmp_path, name, nth):
    """Of the outermost frame of the function in each stack, which counts once."""
    if name == "recursive":
        stacks = recursive(tmp_path / "5-app.tach")
        page = show(tmp_path / "5-app.tach")
    else:
        stacks = [s for *_, s in samples(name)]
        page = show(GOLDEN / f"{name}.bin")
    stacks = [tuple(f[:2] for f in s) for s in stacks]
    in_how_many = collections.Counter(f for s in stacks for f in {f[1] for f in s})
    function = in_how_many.most_common()[min(nth, len(in_how_many) - 1)][0]
    callers, callees, inside = collections.Counter(), collections.Counter(), []
    for s in stacks:
        at = next((i for i, f in enumerate(s) if f[1] == function), None)
        if at is None:
            continue
        inside.append(s)
        callers.update(s[at - 1 - k:at][::-1] for k in range(at))
        callees.update(s[at + 1:at + 2 + k] for k in range(len(s) - at - 1))
    around(page, function)
    if nth == 1:
        picture(page, f"around-{name}")
    assert page.run("report.graph.view.a[0]") == len(inside)
    assert paths(page, "v.callers()") == callers
    assert paths(page, "v.kids(0)") == callees
    assert table(page) == counted(inside)
    assert page.text("#scope") == f"In stacks with {function}"


def test_from_one_function_to_another(show):
    """Click, arrow keys and Enter lead on, Backspace and Escape back; y copies a whole stack."""
    page = show(GOLDEN / "cpu_raw.bin")
    page.run("document.getElementById('canvas').focus()")
    page.key("a")                               # of the function with the most self
    assert crumbs(page) == ["all", "garbage"] and page.run("document.getElementById('around').ariaPressed") == "true"
    page.click_at(*where(page, "Thread.run"))
    assert crumbs(page) == ["all", "garbage", "Thread.run"]
    page.key("ArrowDown")
    page.key("ArrowDown")
    assert page.run("document.getElementById('status').value").startswith("garbage (")
    page.key("ArrowUp")
    page.key("ArrowUp")
    assert page.run("document.getElementById('status').value").startswith("Thread._bootstrap_inner (")
    page.key("Enter")
    assert crumbs(page)[-1] == "Thread._bootstrap_inner"
    page.key("Backspace")
    assert crumbs(page) == ["all", "garbage", "Thread.run"]
    page.key("Escape")
    assert crumbs(page) == ["all"] and page.run("report.graph.view.a[0]") == 467
    page.run("document.querySelector('#side tbody tr:nth-child(2) button.around').click()")
    assert crumbs(page) == ["all", "raiser"]
    page.click("#bottom-up")
    assert crumbs(page) == ["all, by innermost function"]


@pytest.mark.parametrize("width", [390, 1280])
def test_it_goes_with_the_other_controls(show, width):
    """Lines, selections of threads, and what follows from them."""
    page = show(GOLDEN / "cpu_raw.bin", width=width, scheme="dark")
    around(page, "Thread.run")
    whole = page.run("report.graph.view.a[0]")
    page.key("l")
    assert page.run("report.graph.view.a[0]") == whole
    assert all(":" in n for n in page.run("report.graph.view.kids(0).map(n => report.graph.nodeName(n))"))
    picture(page, f"around-lines-{width}")
    page.run("(report.graph.threads.fill(0), report.graph.threads[0] = 1, report.graph.reweigh())")
    assert page.run("report.graph.view.a[0]") <= whole
    page.run("(report.graph.threads.fill(0), report.graph.reweigh())")
    for key in ("ArrowUp", "ArrowDown", "Enter", "Escape", "Escape"):
        page.key(key)
    assert not page.faults


def test_a_link_leads_there(browser, tmp_path):
    page = browser.open(replay(tmp_path / "x.html", GOLDEN / "cpu_raw.bin"))
    around(page, "raiser")
    page.until("location.hash.includes('around=')")
    again = browser.open(page.run("location.href"), wait=False)
    again.until("window.report && report.ready")
    assert crumbs(again) == ["all", "raiser"] and again.run("report.graph.isAround")
    again.run("(location.hash = 'around=zzzzzz', 0)")       # not in this file
    again.until("!report.graph.isAround")
    for p in (page, again):
        assert not p.faults, p.faults
        p.close()
