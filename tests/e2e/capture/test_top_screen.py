# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf top` on a real terminal: keys, views, sizes, and that the terminal is as before at the end."""
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from busy_program import Busy
from paths import binary
from processes import ready
from tmux import Terminal

pytestmark = pytest.mark.interpreters("one")


def top(terminal, *argv):
    terminal.run(binary(), "top", "-r", "999", "-i", "0.5", *argv)


def children(pid):
    return [int(p) for t in Path(f"/proc/{pid}/task").iterdir() for p in (t / "children").read_text().split()]


def screen_processes(terminal):
    """tachbpf's own process, and its child that has the screen."""
    shell = int(terminal.query("pane_pid"))
    own, = children(shell)
    return own, children(own)[0]


def row_of(screen, text):
    return next((line for line in screen.splitlines() if text in line), None)


def test_processes_and_into_one(interpreter):
    with Busy(interpreter) as one, Busy(interpreter) as two, Terminal() as terminal:
        top(terminal, one, two)
        screen = terminal.until(lambda s: f"{one} " in s and f"{two} " in s and " hot, " in s)
        lines = screen.splitlines()
        assert re.match(r"2 Python processes  [\d.]+ % CPU  0 lost  cpu mode, 999 Hz, last \d+ s", lines[0]), lines[0]
        assert lines[1].startswith("100 % = one CPU  by cpu") and lines[-1].endswith("  q quit"), screen
        assert lines[2].split()[:3] == ["pid", "cpu", "%"] and "hottest line" in lines[2]
        assert re.search(r"  <string>:[89] hot, \d+ %", row_of(screen, str(one)) + row_of(screen, str(two)))
        terminal.text(f"/{one}")
        terminal.keys("Enter")
        terminal.until(lambda s: f"  /{one}" in s and f"{two} " not in s)
        terminal.keys("Enter")
        screen = terminal.until(lambda s: "self %  total %  function (hottest line)" in s and
                                "hot (<string>:" in s and "fact (" in s)
        assert f" {one} (" in screen.splitlines()[0] and "functions  threads  callers  tree  GIL" in screen
        assert "100 % = the process' time" in screen.splitlines()[1]
        rows = [line.split() for line in screen.splitlines()[3:] if "(<string>:" in line]
        shares = [float(row[0]) for row in rows]
        assert rows[0][2] == "hot" and shares == sorted(shares, reverse=True), screen
        assert all(float(row[0]) <= float(row[1]) <= 100 for row in rows) and sum(shares) < 101, screen
        terminal.keys("Escape")
        terminal.until(lambda s: "hottest line, % of process" in s)
        terminal.keys("q")
        assert terminal.ended() == 0


def test_enter_goes_into_the_first_row_until_another_one_is_chosen(interpreter):
    """Rows change places: a cursor that nobody has moved is on the first one, a moved one stays on its process."""
    with Busy(interpreter) as one, Busy(interpreter) as two, Terminal() as terminal:
        first = lambda pid: lambda s: s.count("<string>") and s.splitlines()[3].split()[:1] == [str(pid)]
        os.kill(one, signal.SIGSTOP)
        top(terminal, one, two)
        terminal.until(first(two))
        os.kill(two, signal.SIGSTOP)
        os.kill(one, signal.SIGCONT)
        terminal.until(first(one))
        terminal.keys("Enter")
        terminal.until(lambda s: f" {one} (" in s.splitlines()[0])
        terminal.keys("Escape")
        terminal.until(first(one))
        terminal.keys("Down")
        os.kill(one, signal.SIGSTOP)
        os.kill(two, signal.SIGCONT)
        terminal.until(first(two))
        terminal.keys("Enter")
        terminal.until(lambda s: f" {two} (" in s.splitlines()[0])
        terminal.keys("q")
        assert terminal.ended() == 0


def test_views_of_a_process(interpreter):
    with Busy(interpreter) as pid, Terminal() as terminal:
        top(terminal, pid)
        terminal.until(lambda s: f"{pid} " in s)
        terminal.keys("Enter")
        terminal.until(lambda s: "hot (<string>:" in s and "self %" in s)
        terminal.keys("l")
        lines = terminal.until(lambda s: "function (line)" in s and re.search(r"hot \(<string>:(8|9)\)", s))
        assert row_of(lines, "work (<string>:11)"), lines
        terminal.keys("l")
        terminal.until(lambda s: "function (hottest line)" in s and "hot (<string>:" in s)
        terminal.keys("Tab")
        screen = terminal.until(lambda s: "wants" in s and f"thread {pid}" in s and "100 % = one CPU" in s)
        row = row_of(screen, f"thread {pid}").split()
        assert 0 < float(row[1]) <= float(row[0]) <= 100 and row[2:4] == ["-", "-"]   # this mode samples no waits
        terminal.keys("Tab")
        terminal.until(lambda s: "select a function first" in s)
        terminal.keys("Tab")
        screen = terminal.until(lambda s: "total %  self %  call" in s and "hot (" in s)
        tree = [re.sub(r"^ *[\d.]+ +[\d.]+  ", "", line) for line in screen.splitlines() if "<string>" in line]
        assert tree[0].startswith("<module>") and tree[1].startswith(" work (") and tree[2].startswith("  hot ("), tree
        terminal.keys("Tab")
        screen = terminal.until(lambda s: "waits %  holds %" in s and "hot (" in s)
        assert 0 < float(row_of(screen, "hot (").split()[1]) <= 100
        terminal.keys("BTab", "BTab", "BTab", "BTab", "Enter")
        screen = terminal.until(lambda s: "called by  work (<string>)" in s)
        assert row_of(screen, " hot (<string>)"), screen
        terminal.keys("q")
        assert terminal.ended() == 0


def test_sort_filter_and_pause(interpreter):
    with Busy(interpreter) as pid, Terminal() as terminal:
        top(terminal, pid)
        terminal.until(lambda s: f"{pid} " in s)
        assert "by cpu" in terminal.screen()
        terminal.keys("s")
        terminal.until(lambda s: "by gil" in s)
        terminal.text("/nothing of this name")
        terminal.until(lambda s: "no row matches this text" in s)
        terminal.keys("Escape")
        terminal.until(lambda s: f"{pid} " in s)
        terminal.text(f"/{pid}")
        terminal.keys("Enter")
        terminal.until(lambda s: f"  /{pid}" in s and row_of(s, " hot, "))
        terminal.keys("Escape", "Space")
        paused = terminal.until(lambda s: "paused" in s)
        assert [terminal.screen() for _ in range(40)] == [paused] * 40
        terminal.keys("Space", "t")
        terminal.until(lambda s: "since the start" in s and "paused" not in s)
        terminal.keys("?")
        terminal.until(lambda s: "any key: go back" in s)
        terminal.keys("x")
        terminal.until(lambda s: "since the start" in s)
        terminal.keys("q")
        assert terminal.ended() == 0


def test_mode_and_rate(interpreter):
    """Another mode starts again, stays with the process, and shows who waits for the GIL."""
    with Busy(interpreter, "threads") as pid, Terminal() as terminal:
        top(terminal, pid)
        terminal.until(lambda s: f"{pid} " in s)
        terminal.keys("Enter", "Tab")
        terminal.until(lambda s: "second (tid" in s and "cpu mode, 999 Hz" in s)
        terminal.keys("-")
        terminal.until(lambda s: "499 Hz" in s)
        terminal.keys("m")
        screen = terminal.until(lambda s: "wall mode, 499 Hz" in s and "second (tid" in s and
                                float(row_of(s, "second (tid").split()[2]) > 10)
        assert f" {pid} (" in screen.splitlines()[0]
        terminal.keys("m")
        terminal.until(lambda s: "gil mode, 499 Hz" in s and "second (tid" in s)
        terminal.keys("C-c")
        assert terminal.ended() == 0


def test_a_flame_graph(interpreter, out):
    with Busy(interpreter) as pid, Terminal(cwd=out) as terminal:
        top(terminal, pid)
        terminal.until(lambda s: f"{pid} " in s and " hot, " in s)
        terminal.keys("w")
        terminal.until(lambda s: "written: tachbpf-top-2" in s)
        terminal.keys("Enter")
        terminal.until(lambda s: "self %" in s and "hot (" in s)
        terminal.keys("w")
        screen = terminal.until(lambda s: f"written: tachbpf-top-{pid}-" in s)
        terminal.keys("q")
        assert terminal.ended() == 0
    written = re.search(rf"written: (tachbpf-top-{pid}-\S+)", screen)[1]
    names = sorted(p.name for p in Path(out).glob("tachbpf-top*"))
    assert written in names and len(names) == 2
    folded = subprocess.run([binary(), "export", "--format", "collapsed", Path(out) / written], capture_output=True,
                            text=True)
    assert folded.returncode != 0 or "hot" in folded.stdout
    assert "<!doctype html>" in (Path(out) / written).read_text().lower()


SHOP = "import sys, time\nprint(flush=True)\nwhile True:\n    sum(range(10000))\n"


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_program_and_how_to_quit_at_each_width(interpreter, columns, tmp_path):
    """Not "python3": the script and its arguments."""
    (tmp_path / "shop.py").write_text(SHOP)
    argv = interpreter.command(tmp_path / "shop.py", "--port", "80")
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process, Terminal(columns, 15) as terminal:
        process.stdout.readline()
        try:
            top(terminal, process.pid)
            line = "" if columns == 40 else ".*  shop.py:4 <module>"
            screen = terminal.until(lambda s: re.search(rf"{process.pid} .* shop.py --port 80\b{line}", s))
            assert screen.splitlines()[-1].endswith("q quit") and "? help" in screen, screen
            terminal.keys("q")
            assert terminal.ended() == 0
        finally:
            process.kill()


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (200, 50), (20, 4)])
def test_sizes(interpreter, size):
    """No line is longer than the terminal, also after its size has changed."""
    with Busy(interpreter) as pid, Terminal(*size) as terminal:
        top(terminal, pid)
        terminal.until(lambda s: "Python" in s.splitlines()[0] and str(pid) in s if size[1] > 4 else "1 Python process" in s)
        terminal.resize(size[0] + 30, size[1] + 10)
        terminal.until(lambda s: str(pid) in s and len(s.splitlines()) >= size[1] + 9)
        terminal.keys("Enter")
        terminal.until(lambda s: "hot (" in s)
        terminal.resize(*size)
        terminal.until(lambda s: len(s.splitlines()) <= size[1] and s.startswith("-c "))
        terminal.keys("?")
        terminal.until(lambda s: "any key: go back" in s)
        terminal.keys("x", "q")
        assert terminal.ended() == 0


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM", "SIGHUP", "SIGINT"])
def test_the_terminal_is_as_before(interpreter, how):
    with Busy(interpreter) as pid, Terminal() as terminal:
        top(terminal, pid)
        terminal.until(lambda s: f"{pid} " in s)
        assert terminal.query("alternate_on") == "1" and terminal.query("cursor_flag") == "0"
        if how == "Ctrl-C":
            terminal.keys("C-c")
        else:
            os.kill(screen_processes(terminal)[0], getattr(signal, how))
        assert terminal.ended() == 0


@pytest.mark.parametrize("how", ["SIGSEGV", "SIGKILL"])
def test_after_a_crash_of_the_screen(interpreter, how):
    with Busy(interpreter) as pid, Terminal() as terminal:
        top(terminal, pid)
        terminal.until(lambda s: f"{pid} " in s)
        os.kill(screen_processes(terminal)[1], getattr(signal, how))
        assert terminal.ended() == 1
        assert f"terminated by signal {getattr(signal, how).value}" in terminal.screen()


@pytest.mark.parametrize("how", ["SIGSEGV", "SIGQUIT", "SIGABRT"])
def test_after_a_crash_of_its_parent(interpreter, how):
    with Busy(interpreter) as pid, Terminal() as terminal:
        top(terminal, pid)
        terminal.until(lambda s: f"{pid} " in s)
        own, child = screen_processes(terminal)
        os.kill(own, getattr(signal, how))
        assert terminal.ended() == 128 + getattr(signal, how)
        terminal.until(lambda _: not Path(f"/proc/{child}").exists())


def test_messages_come_at_the_end(interpreter):
    """Not over the screen: what cannot be looked at is said when the terminal is back."""
    with Terminal() as terminal:
        terminal.run(binary(), "top", "999999999")
        assert terminal.ended() != 0
        assert "999999999" in terminal.screen().replace("top 999999999", "")


def test_the_process_ends(interpreter):
    with Terminal() as terminal:
        with Busy(interpreter) as pid:
            top(terminal, pid)
            terminal.until(lambda s: f"{pid} " in s)
        assert terminal.ended() == 0


LOOP = """
import asyncio
async def main():
    sleeper = asyncio.ensure_future(asyncio.sleep(10000))
    print("ready", flush=True)
    await sleeper
asyncio.new_event_loop().run_until_complete(main())
"""


def test_the_line_about_an_event_loop(interpreter):
    """Above the headings, only in a process that has one."""
    with ready(interpreter.command("-c", LOOP)) as loop, Busy(interpreter) as busy, Terminal() as terminal:
        top(terminal, "--async", loop.pid, busy)
        terminal.until(lambda s: f"{loop.pid} " in s and f"{busy} " in s and "loop lag" in s)
        terminal.text(f"/{loop.pid}")
        terminal.keys("Enter", "Enter")
        screen = terminal.until(lambda s: "loop: 2 tasks, up to 0 ready, longest callback " in s)
        assert screen.splitlines()[2].startswith("loop: ") and screen.splitlines()[3].startswith("self %")
        terminal.keys("Escape", "Escape")
        terminal.text(f"/{busy}")
        terminal.keys("Enter", "Enter")
        screen = terminal.until(lambda s: "hot (<string>:" in s)
        assert "loop: " not in screen
        terminal.keys("q")
        assert terminal.ended() == 0
