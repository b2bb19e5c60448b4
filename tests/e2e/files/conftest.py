# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What tests of files share: exports of CPython's captures, and a browser that shows reports."""
import json
import shutil
from pathlib import Path

import pytest

import browser as chromium
import make_tach
from captures import GOLDEN
from command import good
from html_reports import replay
from present import absent
from profiles import HAS_GIL, MAIN_THREAD, ON_CPU


@pytest.fixture
def export(tmp_path):
    """Writes a capture in a format, and says where."""
    def convert(name, fmt, *options):
        out = tmp_path / f"{Path(name).name}.{fmt}"
        good("replay", GOLDEN / name, "--format", fmt, *options, "-o", out)
        return out
    return convert


@pytest.fixture
def many_threads(tmp_path):
    """A file of process 7 with the threads 100 to 129: of 30 samples, 29, ... and the main thread's one."""
    w = make_tach.Writer()
    stack = w.stack([("/srv/app.py", "work", 3)])
    for i in range(30):
        for _ in range(30 - i):
            w.add(stack, tid=100 + i, status=HAS_GIL | ON_CPU | (MAIN_THREAD if i == 29 else 0))
    w.write(tmp_path / "7-app.tach")
    return tmp_path / "7-app.tach"


@pytest.fixture
def two_processes(tmp_path):
    """A directory as tachbpf leaves it, of two captures: two processes and their session.json."""
    directory = tmp_path / "recording"
    directory.mkdir()
    shutil.copy(GOLDEN / "cpu_raw.bin", directory / "12-first.tach")
    shutil.copy(GOLDEN / "native_opcodes.bin", directory / "34-second.tach")
    start = json.loads((GOLDEN / "cpu_raw.info.json").read_text())["start_time_us"]
    (directory / "session.json").write_text(json.dumps({
        "kernel": "6.1.0-x", "start_time": "2026-01-02T03:04:05Z",
        "start_monotonic_us": start - 1500000,
        "processes": [{"file": "12-first.tach", "pid": 12, "comm": "first",
                       "lost": {"late_discovery": 3, "write": 4}},
                      {"file": "34-second.tach", "pid": 34, "comm": "sec;ond"}]}))
    return directory


@pytest.fixture(scope="module")
def browser():
    if not chromium.find():
        absent("no chromium: install Debian's package chromium")
    with chromium.Browser() as b:
        yield b


@pytest.fixture
def show(browser, tmp_path):
    """Opens a report of TACH files, which must not ask for anything and not complain."""
    pages = []

    def show(*paths, report="flamegraph", more=(), **how):
        out = replay(tmp_path / f"{report}{len(pages)}.html", *paths, report=report, more=more)
        page = browser.open(out, **how)
        page.file = out
        pages.append(page)
        return page

    yield show
    for page in pages:
        page.call("Page.bringToFront")
        page.settle()
        assert page.requests == [f"file://{page.file}"] and not page.faults
        page.close()
