# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf top`: what Python processes do, window by window."""
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import cgroups
from busy_program import Busy
from command import raw_terminal, refused
from paths import binary
from processes import TIMEOUT, kill
from recording import succeeded, tachbpf

pytestmark = pytest.mark.interpreters("two")


def windows(*argv):
    return [json.loads(line) for line in succeeded(tachbpf("top", "--json", *argv)).stdout.splitlines()]


def test_windows_of_a_process(interpreter):
    with Busy(interpreter) as pid:
        found = windows(pid, "-i", "0.5", "-n", "4", "-r", "999")
    assert len(found) == 4
    rows = []
    for window in found:
        row, = window["processes"]
        assert window["version"] == 1 and window["rate_hz"] == 999 and window["pythons"] == 1
        assert row["pid"] == pid and row["python"].startswith(".".join(map(str, interpreter.minor)))
        assert {k: window[k] for k in ("samples", "cpu_s", "gil_s", "gc_s")} == \
            {k: row[k] for k in ("samples", "cpu_s", "gil_s", "gc_s")}
        assert 0 <= row["gil_s"] <= row["cpu_s"] and window["seconds"] >= 0.5
        rows.append(row)
    for before, after in zip(rows, rows[1:]):
        for key in "samples", "cpu_s":
            assert after["since_start"][key] - before["since_start"][key] == pytest.approx(after[key], rel=1e-6, abs=1e-9)
    hottest = [r["hottest"] for r in rows if r["samples"]]
    assert hottest and all(h["function"] == "hot" and 0 < h["self_s"] <= h["total_s"] for h in hottest)
    lines = [r["hottest_line"] for r in rows if r["samples"]]
    assert all(line["function"] == "hot" and line["line"] in (8, 9) for line in lines), lines
    assert all(0 < line["self_s"] <= h["self_s"] * 1.000001 for line, h in zip(lines, hottest))
    assert all(r["program"].startswith("-c ") for r in rows)
    assert all(h["self_s"] <= r["cpu_s"] * 1.000001 for h, r in zip(hottest, [r for r in rows if r["samples"]]))


@pytest.mark.interpreters("one")
def test_processes_come_and_go(interpreter):
    """System-wide, one that ended in a window counts there, and is in no later one."""
    with Busy(interpreter) as stays:
        with Busy(interpreter) as goes:
            process = subprocess.Popen([binary(), "top", "--json", "-i", "0.5", "--limit", "0"], text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                until(process, lambda w: {stays, goes} <= pids(w))
            except BaseException:
                kill(process)
                raise
        try:
            ended = until(process, lambda w: goes not in pids(w))
            assert stays in pids(ended) and ended["ended"] >= 1
            with Busy(interpreter) as comes:
                until(process, lambda w: comes in pids(w))
            process.send_signal(signal.SIGINT)
            assert process.wait(TIMEOUT) == 0, process.stderr.read()
        finally:
            kill(process)


def pids(window):
    return {p["pid"] for p in window["processes"]}


def until(process, condition):
    """The first window that meets it."""
    end = time.monotonic() + TIMEOUT
    while True:
        line = process.stdout.readline()
        assert line and time.monotonic() < end, "no such window came"
        window = json.loads(line)
        if condition(window):
            return window


# 6,000 functions, each with its frames, places and nodes of the tree of calls.
MANY_FUNCTIONS = """
import random, time
r, n = random.random, 6000
def g(depth):
    if depth: functions[int(r() * n)](depth - 1)
exec("".join(f"def f{i}(d):\\n    g(d)\\n" for i in range(n)))
functions = [globals()[f"f{i}"] for i in range(n)]
end = time.process_time() + 0.2
while time.process_time() < end: g(30)
"""


def own_kib(pid):
    return int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


@pytest.mark.interpreters("one")
def test_memory_of_ended_processes_goes_back(interpreter):
    """It took 12 MiB for as long as top ran."""
    mount = cgroups.v2()
    if not mount:
        pytest.skip("no cgroup hierarchy of v2 can be written to")
    with cgroups.Tree(mount) as tree:
        place = tree.make("jobs")
        top = subprocess.Popen([binary(), "top", "--json", "-i", "0.2", "-r", "9999", "--cgroup", tree.path(place)],
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            until(top, lambda w: True)
            before = own_kib(top.pid)
            jobs = [subprocess.Popen(cgroups.enter(place, interpreter.command("-S", "-c", MANY_FUNCTIONS)))
                    for _ in range(4)]
            until(top, lambda w: w["pythons"])
            assert [job.wait(TIMEOUT) for job in jobs] == [0] * 4
            until(top, lambda w: not w["pythons"] and own_kib(top.pid) <= before + 1024)
            top.send_signal(signal.SIGINT)
            assert top.wait(TIMEOUT) == 0, top.stderr.read()
        finally:
            kill(top)


@pytest.mark.interpreters("one")
def test_the_table(interpreter):
    with Busy(interpreter) as pid:
        done = succeeded(tachbpf("top", "--once", "-i", "0.5", "-r", "999", str(pid)))
        once = done.stdout
        two = succeeded(tachbpf("top", "-b", "-n", "2", "-i", "0.3", str(pid))).stdout
    head, columns, row = once.splitlines()
    assert "sampling; the first table comes in 0.5 s" in done.stderr
    assert " 1 Python process, " in head and " 999 Hz, " in head and head.endswith(" lost")
    assert " % CPU (100 % = one CPU), " in head
    assert columns.split()[:3] == ["pid", "cpu", "%"] and columns.endswith("hottest line, % of process")
    assert int(row.split()[0]) == pid and re.search(r"  <string>:[89] hot, \d+ %$", row), row
    assert row[columns.index("program"):].startswith("-c "), row
    assert two.count("hottest line, % of process") == 2 and "\033" not in two


# Holds as many MiB as it is told; then, with a second number, so many bytes more every tenth of a second.
HOLDS = """
import sys, time
held = [b"x" * 1048576 * int(sys.argv[1])]
print(flush=True)
while sys.argv[2:]:
    held.append(b"x" * int(sys.argv[2]))
    time.sleep(0.1)
sys.stdin.read()
"""


class Holder:
    def __init__(self, interpreter, *argv):
        self.process = subprocess.Popen(interpreter.command("-c", HOLDS, *map(str, argv)), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def __enter__(self):
        self.process.stdout.readline()
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def rss(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.interpreters("one")
def test_memory(interpreter):
    """That of the kernel, in JSON and in the table; what has the most can come first. They used no CPU time."""
    with Holder(interpreter, 8) as small, Holder(interpreter, 96) as large:
        window, = windows("-p", f"{small},{large}", "-n", "1", "-i", "0.3", "--sort", "rss")
        table = succeeded(tachbpf("top", "--once", "-i", "0.3", "--sort", "rss", small, large)).stdout.splitlines()
        expected = [rss(large), rss(small)]
    rows = window["processes"]
    assert [row["pid"] for row in rows] == [large, small]
    assert [row["rss_bytes"] for row in rows] == pytest.approx(expected, abs=1 << 20)
    assert all(row["rss_growth"] is None and row["since_start"]["rss_growth"] is None for row in rows)
    at = table[1].index("rss")
    assert table[1][at:].split()[:2] == ["rss", "rss/min"]
    for line, pid, size in zip(table[2:], [large, small], expected):
        assert int(line.split()[0]) == pid and line[at - 3:].split()[1] == "-", table
        assert float(line[at - 3:].split()[0].rstrip("M")) == pytest.approx(size / 1048576, rel=0.06), table


@pytest.mark.interpreters("one")
def test_memory_that_grows(interpreter):
    """Once it can be told from noise: then it is what the program has added, by its own clock within a fifth."""
    with Holder(interpreter, 8, 1 << 20) as grows, Holder(interpreter, 8) as stays:
        began, before = time.monotonic(), rss(grows)
        top = subprocess.Popen([binary(), "top", "--json", "-i", "1", "--sort", "growth", "-p", f"{grows},{stays}"],
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            window = until(top, lambda w: any(p["rss_growth"] for p in w["processes"]))
            real = (rss(grows) - before) / (time.monotonic() - began) * 60
            top.send_signal(signal.SIGINT)
            assert top.wait(TIMEOUT) == 0, top.stderr.read()
        finally:
            kill(top)
    first, second = window["processes"]
    assert (first["pid"], second["pid"]) == (grows, stays) and second["rss_growth"] is None
    assert first["rss_growth"]["bytes_per_min"] == pytest.approx(real, rel=0.2)
    assert first["rss_growth"]["seconds"] > 10 and first["since_start"]["rss_growth"]


HASHING = """
import hashlib, sys, threading
data = b"x" * 1000000
def digest():
    while True:
        hashlib.sha256(data).digest()
for _ in range(2):
    threading.Thread(target=digest, daemon=True).start()
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.interpreters("one")
def test_two_threads_on_several_cpus(interpreter, tmp_path):
    """Its CPU time is that of both, which may be more than one CPU: the first line says what 100 % is. GIL time is not."""
    script = tmp_path / "digests.py"
    script.write_text(HASHING)
    with subprocess.Popen(interpreter.command(script, "--both"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        window, = windows(process.pid, "-n", "1", "-i", "0.5", "-r", "999")
        table = succeeded(tachbpf("top", "--once", "-i", "0.5", "-r", "999", process.pid)).stdout
        process.stdin.close()
    row, = window["processes"]
    assert row["program"] == "digests.py --both" and row["gil_s"] <= min(row["cpu_s"], 1.05 * window["seconds"])
    head, columns, line = table.splitlines()
    cpu, gil = map(float, line.split()[1:3])
    assert "(100 % = one CPU)" in head and gil <= min(cpu, 100) and cpu <= 100 * max(2, os.cpu_count())
    assert line[columns.index("program"):].startswith("digests.py --both"), table
    share = float(line.split()[-2])
    assert 0 <= share <= 100


@pytest.mark.interpreters("one")
@pytest.mark.parametrize("columns", [60, 80, 200])
def test_on_a_terminal(interpreter, columns):
    """Each table is drawn over the one before, in as many lines and columns as there are."""
    with Busy(interpreter) as pid, Busy(interpreter), Busy(interpreter):
        text = raw_terminal(columns, binary(), "top", "-n", "2", "-i", "0.5", "--color", "never", rows=6).decode()
    tables = text.split("\033[H\033[2J")
    assert len(tables) == 3, text
    # Other processes on this host, which no table has, may be named at any time.
    said, *tables = ([line for line in table.replace("\r", "").rstrip("\n").split("\n")
                      if not re.search(" is not profiled: | cannot be inspected: ", line)] for table in tables)
    assert len(said) == 1 and "the first table comes in 0.5 s" in said[0], text
    for lines in tables:
        assert "program" in lines[1] and "hottest line" in lines[1], lines
        assert all(len(line) <= columns for line in lines), lines
        assert len(lines) <= 5 and lines[-1].endswith(" more"), lines
    assert pid


@pytest.mark.interpreters("one")
def test_the_processes_end(interpreter):
    """Then top ends, too, if they were named."""
    with Busy(interpreter) as pid:
        process = subprocess.Popen([binary(), "top", str(pid), "--json", "-i", "0.2"], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            until(process, lambda w: pids(w) == {pid})
        except BaseException:
            kill(process)
            raise
    try:
        assert process.wait(TIMEOUT) == 0, process.stderr.read()
    finally:
        kill(process)


def test_wrong_command_lines():
    refused(tachbpf("top", "-a", "1"), "mutually exclusive", status=2)
    refused(tachbpf("top", "-i", "0.01"), "--interval", status=2)
    refused(tachbpf("top", "x"), "--pid 'x'", status=2)
    refused(tachbpf("top", "--sort", "size"), "--sort 'size'", status=2)
