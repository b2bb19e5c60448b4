# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""%tachbpf and %%tachbpf, in a kernel and in a browser."""
import html
import re
import sys
from pathlib import Path

import pytest
from recorded import TIMEOUT, needs_root
from tachbpf import _notebook

WORK = """import threading, time
def burn(cpu_s):
    end = time.thread_time() + cpu_s
    while time.thread_time() < end:
        sum(x * x for x in range(500))
def rest():
    threading.Event().wait(0.3)
"""


class Usage(Exception):
    pass


# ---- without a kernel ----


@pytest.mark.parametrize("line, options, rest", [
    ("", {}, ""), ("  f(1) ", {}, "f(1)"), ("--native f('--wall')", {"native": True}, "f('--wall')"),
    ("--wall --rate 99 x  +  1", {"mode": "wall", "rate": "99"}, "x  +  1"),
    ("--mode=gil --rate=99 --native=full", {"mode": "gil", "rate": "99", "native": "full"}, ""),
    ("-x", {}, "-x"), ("--nativex()", {}, "--nativex()"), ("--x--y", {}, "--x--y"),
])
def test_options(line, options, rest):
    """What is no option is the expression, to the letter."""
    assert _notebook.parse(line, Usage) == (options, rest)


@pytest.mark.parametrize("line", ["--rate", "--mode", "--children", "--wall=1", "--output=x"])
def test_wrong_options(line):
    with pytest.raises(Usage):
        _notebook.parse(line, Usage)


def test_hostile_texts():
    """Names and pages are text, not markup of the notebook."""
    lines = [_notebook.Line(99.5, "<b>:1", "f", "</td><script>alert(1)</script>")]
    shown = _notebook.as_html(lines, '"></iframe><script>alert(2)</script>')
    assert "<script>" not in shown and shown.count("<iframe") == 1 and 'sandbox="allow-scripts"' in shown
    assert "  99.5  <b>:1  </td><script>" in _notebook.as_text(lines)


def test_a_page_that_is_too_large():
    shown = _notebook.as_html([], "x" * (_notebook.PAGE_MAX + 1))
    assert len(shown) < 1000 and "8.0 MiB" in shown and "--rate" in shown and "<iframe" not in shown


# ---- with one ----


def executed(cells, directory):
    """A notebook's cells, executed; errors stay in their outputs."""
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(notebook, timeout=TIMEOUT, kernel_name="python3", allow_errors=True,
                                     resources={"metadata": {"path": str(directory)}})
    return client.execute().cells


def shown(cell):
    """The (HTML, text) that a cell shows of its profile."""
    found = [o.data for o in cell.outputs if o.output_type == "display_data" and "tachbpf" in o.data.get("text/html", "")]
    assert len(found) == 1, cell.outputs
    return found[0]["text/html"], found[0]["text/plain"]


def page_of(text):
    return html.unescape(re.search(r'srcdoc="([^"]*)"', text)[1])


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    directory = tmp_path_factory.mktemp("notebook")
    cells = executed([
        WORK + "%load_ext tachbpf", "%%tachbpf --rate 499\nburn(0.4)\nanswer = 6 * 7\nanswer", "%tachbpf --wall rest()",
        "%%tachbpf\nburn(0.1)\n1 / 0", "%%tachbpf --frobnicate\nburn(0.1)", "%tachbpf", "print(answer)",
        "import os; os.environ['TACHBPF'] = '/nonexistent/tachbpf'", "%tachbpf burn(0.01)",
    ], directory)
    assert not list(directory.iterdir())        # nothing is left there
    return cells


@needs_root
def test_a_cell(notebook):
    """Its own result, its lines with their source, and the flame graph; names stay in the notebook."""
    cell = notebook[1]
    results = [o for o in cell.outputs if o.output_type in ("execute_result", "display_data") and "text/html" not in o.data]
    assert [o.data["text/plain"] for o in results] == ["42"]
    page, text = shown(cell)
    assert "this notebook, line 5" in text and "sum(x * x for x in range(500))" in text
    assert "sum(x * x for x in range(500))" in html.unescape(page.split("</iframe>")[1])
    assert page_of(page).lower().startswith("<!doctype html>")
    assert notebook[6].outputs[0].text == "42\n"


@needs_root
def test_waiting(notebook):
    _, text = shown(notebook[2])
    assert "wait" in text


@needs_root
def test_an_error_is_shown_and_stops_the_notebook(notebook):
    """With its profile."""
    shown(notebook[3])
    errors = [o for o in notebook[3].outputs if o.output_type == "error"]
    assert errors and {e.ename for e in errors} == {"ZeroDivisionError"}
    assert sum("Traceback" in "".join(e.traceback) for e in errors) == 1


@needs_root
def test_wrong_use(notebook):
    """One line, no traceback."""
    for cell, words in ((notebook[4], "unknown option --frobnicate"), (notebook[5], "EXPRESSION"), (notebook[8], "tachbpf")):
        text = "".join(o.text for o in cell.outputs if o.output_type == "stream")
        assert words in text and "Traceback" not in text, cell.outputs


def browser_page():
    """tests/e2e/lib/browser.py, with pages that know the sandboxed frames in them, each a target of its own."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e" / "lib"))
    import browser
    if not browser.find():
        pytest.skip(f"no browser: {', '.join(browser.NAMES)}")

    class Frame(browser.Page):
        def __init__(self, chromium, session):      # pylint: disable=super-init-not-called
            self.browser, self.session = chromium, session

    class Notebook(browser.Page):
        frame = None

        def on_event(self, method, params):
            super().on_event(method, params)
            if method == "Target.attachedToTarget":
                self.frame = Frame(self.browser, params["sessionId"])

    return browser, Notebook


@needs_root
def test_in_a_browser(notebook, tmp_path):
    """The frame shows the flame graph, with the text of the cell; it cannot reach the notebook, and asks nobody for anything."""
    browser, Notebook = browser_page()
    shown_html, _ = shown(notebook[1])
    path = tmp_path / "cell.html"
    path.write_text(f"<!DOCTYPE html><meta charset=utf-8><title>notebook</title><body>{shown_html}")
    with browser.Browser() as chromium:
        page = Notebook(chromium, 1280, 900, "light")
        page.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        page.goto(path, wait=False)
        page.until("document.readyState == 'complete'")
        assert page.frame, "the frame is not isolated"
        page.frame.until("window.report && (report.ready || report.error)")
        assert not page.frame.run("report.error")
        assert "burn" in page.frame.run("document.body.innerText")
        assert "sum(x * x for x in range(500))" in page.frame.run("JSON.stringify(report.graph.model.meta.sources || {})")
        page.frame.run("report.graph.zoomTo(3)")       # where it is goes into its address, which is not the notebook's
        page.frame.until("location.hash.includes('zoom')")
        reach = "(() => { try { return parent.document.title; } catch (e) { return e.name; } })()"
        assert page.frame.run(reach) == "SecurityError"
        assert "sum(x * x for x in range(500))" in page.text("table.tachbpf")
        browser.picture(page, "notebook")
        assert not page.faults and not [r for r in page.requests if not r.startswith(("file:", "data:", "blob:", "about:"))]
