# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf heap`: what a user types and reads, against the book of a program that leaks (targets/sessions.py).

How right the figures of each type are, on each interpreter, is for the tests of the census.
"""
import json
import os
import signal
import subprocess

import pytest

from command import on_terminal, refused, run
from processes import kill, wait_until
from recording import Recording, succeeded, tachbpf
from target import Target

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

COUNT = 300
SESSION = "__main__.Session"


class Sessions(Target):
    """sessions.py under an interpreter."""

    def __init__(self, interpreter, scratch, count=COUNT, env=None):
        super().__init__(interpreter, scratch, str(count), name="sessions", program="sessions.py", env=env)

    def book(self):
        return json.loads(self.truth_path.read_text())

    def more(self):
        self.go()
        self.expect("done")
        return self.book()


def heap(*argv):
    """What `heap --json` says of the only process."""
    said = json.loads(succeeded(tachbpf("heap", "--json", *map(str, argv))).stdout)
    assert said["heap_census"] == 1 and said["failed"] == 0
    process, = said["processes"]
    return process


def types(process):
    rows = {row["type"]: row for row in process["types"]}
    assert len(rows) == len(process["types"]), "a type has several rows"
    return rows


def state_of(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0]


def assert_counted(process, book):
    rows = types(process)
    for name in (SESSION, "bytearray"):
        assert rows[name]["objects"] == book["types"][name], rows[name]
    assert abs(rows["bytearray"]["bytes"] - book["bytearray_bytes"]) <= 0.03 * book["bytearray_bytes"]
    for name in ("list", "str"):
        assert rows[name]["objects"] >= book["types"][name]


def test_what_is_there(interpreter, scratch):
    with Sessions(interpreter, scratch) as target:
        process = heap(target.pid, "--exact")
        book = target.book()
    assert process["pid"] == target.pid and process["growth"] is None
    assert process["python"].startswith(".".join(map(str, interpreter.minor)))
    assert not process["limited"] and process["pools_read"] == process["pools"] > 0
    assert all(not row["bytes_error"] for row in process["types"])
    assert_counted(process, book)
    assert process["rss"] > book["bytearray_bytes"]


def test_a_sample_is_within_its_error(interpreter, scratch):
    with Sessions(interpreter, scratch) as target:
        rows = types(heap(target.pid))
        book = target.book()
    # 95 of 100 are within the error; at three of it, chance is out of the question.
    for name in (SESSION, "bytearray"):
        assert abs(rows[name]["objects"] - book["types"][name]) <= 3 * rows[name]["objects_error"], rows[name]


def since(target, *argv):
    """Runs `heap --since` on the target, which makes more in between; returns what it printed."""
    with Recording(["heap", str(target.pid), "--exact", "--since", "1h", *argv]) as look:
        assert "the second census comes in" in look.process.stderr.readline()
        target.more()
        done = succeeded(look.stop())
    assert not done.stderr, done
    return done.stdout


def test_growth_is_exact(interpreter, scratch):
    with Sessions(interpreter, scratch) as target:
        process, = json.loads(since(target, "--json"))["processes"]
        book = target.book()
    growth = process["growth"]
    grown = {row["type"]: row for row in growth["types"]}
    assert len(grown) == len(growth["types"])
    for name in (SESSION, "bytearray"):
        assert grown[name]["objects"] == COUNT and grown[name]["grew"], grown[name]
        assert not grown[name]["objects_error"]
        rate = COUNT * 60 / growth["seconds"]
        assert abs(grown[name]["objects_per_minute"] - rate) <= max(1, 0.001 * rate)
    assert_counted(process, book)
    assert growth["rss"] > 0.5 * COUNT * 20000


def test_the_text_of_growth(interpreter, scratch):
    """The first line leads to the program's own type, and not to what it calls."""
    with Sessions(interpreter, scratch) as target:
        text = since(target)
    lines = text.splitlines()
    assert lines[0].startswith(f"{SESSION} grew by ") and ", and bytearray by " in lines[0], text
    assert lines[1].startswith(f"Process {target.pid} (sessions.py"), text
    assert any(line.endswith("  bytearray") for line in lines) and "JSONEncoder" not in text


@pytest.mark.interpreters("one")
def test_nothing_grows(interpreter, scratch):
    with Sessions(interpreter, scratch) as target:
        with Recording(["heap", str(target.pid), "--exact", "--since", "0.1"]) as look:
            text = succeeded(look.wait()).stdout
    assert SESSION not in text and "bytearray" not in text, text


@pytest.mark.interpreters("one")
def test_the_first_screen(interpreter, scratch):
    """On a terminal of 80 columns: no line is longer, and it fits on the screen."""
    with Sessions(interpreter, scratch) as target:
        lines = on_terminal(80, "heap", "--exact", target.pid)     # a busy machine has not read all in a second
        piped = run("heap", "--exact", target.pid).stdout.splitlines()
    text = "\n".join(lines)
    assert text.startswith(f"Process {target.pid} (sessions.py"), text
    assert all(len(line) <= 80 for line in lines) and len(lines) <= 25, text
    for shown in lines, piped:
        assert any(line.startswith(f"Largest type that is not Python's own: {SESSION}, ") for line in shown), shown
        assert any(line.split()[-1:] == ["bytearray"] for line in shown), shown
    assert f"sudo tachbpf heap {target.pid} --since 30s" in text


@pytest.mark.interpreters("one")
def test_several_processes(interpreter, scratch):
    with Sessions(interpreter, scratch) as one, Sessions(interpreter, scratch, 10) as two:
        said = json.loads(succeeded(tachbpf("heap", "--json", str(one.pid), str(two.pid))).stdout)
        text = succeeded(tachbpf("heap", str(one.pid), str(two.pid))).stdout
        everything = run("heap", "-a", "--limit", "0").stdout
        left = run("heap", "-a", "--exclude-pid", two.pid, "--limit", "0").stdout
        other = refused(tachbpf("heap", str(one.pid), "--comm", "no such name"), "does not match the filters")
    assert [p["pid"] for p in said["processes"]] == [one.pid, two.pid]
    assert f"Process {one.pid} (" in text and f"\nProcess {two.pid} (" in text
    lines = {line.split()[0]: line for line in everything.splitlines() if line}
    assert {str(one.pid), str(two.pid)} <= set(lines) and "bytearray " in lines[str(one.pid)]
    assert str(two.pid) not in {line.split()[0] for line in left.splitlines() if line} and other


@pytest.mark.interpreters("one")
def test_two_censuses_are_compared(interpreter, scratch, out):
    before, after, profile = out / "before.json", out / "after.json", out / "x.folded"
    profile.write_text("a;b 1\n")
    with Sessions(interpreter, scratch) as target:
        before.write_text(succeeded(tachbpf("heap", "--exact", "--json", str(target.pid))).stdout)
        target.more()
        after.write_text(succeeded(tachbpf("heap", "--exact", "--json", str(target.pid))).stdout)
    process, = json.loads(run("diff", "--json", before, after).stdout)["processes"]
    grown = {row["type"]: row["objects"] for row in process["types"]}
    assert grown[SESSION] == COUNT and grown["bytearray"] == COUNT
    text = run("diff", before, after)
    assert text.returncode == 0 and text.stdout.startswith(f"{SESSION} grew by "), text
    refused(run("diff", after, before), "B is not later than A")
    refused(run("diff", before, profile), "A is a census of a heap, but B is not")
    refused(run("diff", before, after, "--sort", "name"), "only --limit and --json")
    refused(run("report", before), "a census of a heap")
    after.write_text(after.read_text()[:-100])
    refused(run("diff", before, after), "after.json", "at byte")


def made_census(path, time, counts):
    """As `heap --json` writes it: {pid: objects of app.Session}."""
    path.write_text(json.dumps({"heap_census": 1, "processes": [
        {"pid": pid, "program": f"worker {pid}", "time": time, "rss": cnt * 1000, "types": [
            {"type": "app.Session", "objects": cnt, "objects_error": 0, "bytes": cnt * 100, "bytes_error": 0}]}
        for pid, cnt in counts.items()], "failed": 0}))


def test_censuses_of_several_processes(tmp_path):
    """Those that are in both files; an hour lies between the two."""
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    made_census(before, 1e9, {1: 500, 2: 100, 3: 100})
    made_census(after, 1e9 + 3600, {2: 160, 3: 700, 4: 5})
    said = json.loads(run("diff", before, after, "--json").stdout)
    rates = {p["pid"]: p["types"][0]["objects_per_minute"] for p in said["processes"]}
    assert rates == {2: 1, 3: 10} and all(p["seconds"] == 3600 for p in said["processes"])
    done = run("diff", before, after)
    assert done.returncode == 0 and "2 processes are in only one of the two files" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["pid", "3", "2"]
    assert "app.Session +1000 B" in done.stdout
    made_census(after, 1e9 + 3600, {3: 700})
    made_census(before, 1e9, {7: 100})          # restarted: it is the only one
    text = run("diff", before, after).stdout
    assert text.startswith("app.Session grew by 10 objects a minute (1000 B).\n") and "watched for 60.0 min" in text
    made_census(before, 1e9, {1: 1, 2: 2})
    refused(run("diff", before, after), "no process is in both files")


@pytest.mark.interpreters("one")
def test_a_stopped_process_is_seen_and_stays_stopped(interpreter, scratch):
    with Sessions(interpreter, scratch) as target:
        os.kill(target.pid, signal.SIGSTOP)
        wait_until(lambda: state_of(target.pid) == "T", "it is stopped")
        process = heap(target.pid, "--exact")
        assert state_of(target.pid) == "T"
        os.kill(target.pid, signal.SIGCONT)
        assert_counted(process, target.book())


@pytest.mark.interpreters("one")
def test_what_cannot_be_read(interpreter, scratch):
    """The other processes are shown, and the exit status says that one was not."""
    with Sessions(interpreter, scratch) as target, subprocess.Popen(["sleep", "1000"]) as other:
        try:
            done = tachbpf("heap", str(target.pid), str(other.pid), "--json")
            refused(done, f"process {other.pid} is not Python")
            said = json.loads(done.stdout)
            assert said["failed"] == 1 and [p["pid"] for p in said["processes"]] == [target.pid]
        finally:
            other.kill()
    refused(tachbpf("heap", str(other.pid)), f"no process {other.pid}")
    program = "import time; print('ready', flush=True); time.sleep(1000)"
    shell = subprocess.Popen(["sh", "-c", '"$@" & wait', "sh", *interpreter.command("-c", program)],
                             stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert shell.stdout.readline() == "ready\n"
        refused(tachbpf("heap", str(shell.pid)), f"process {shell.pid} is not Python, but it started process ")
    finally:
        kill(shell)
    refused(tachbpf("heap", "-a", "--comm", "no such name"), "no Python process matches the filters", status=3)


@pytest.mark.interpreters("one")
def test_it_ends_meanwhile(interpreter, scratch):
    with Sessions(interpreter, scratch) as target:
        with Recording(["heap", str(target.pid), "--since", "1h"]) as look:
            assert "the second census comes in" in look.process.stderr.readline()
            target.leave()
            refused(look.stop(), f"process {target.pid}: it has ended")


@pytest.mark.interpreters("one")
def test_without_pythons_allocator(interpreter, scratch):
    """Objects are found by their heads; one that was freed may still have its own."""
    if interpreter.free_threaded:
        pytest.skip("a free-threaded build has one allocator, mimalloc")
    with Sessions(interpreter, scratch, env={"PYTHONMALLOC": "malloc"}) as target:
        rows, book = types(heap(target.pid, "--exact")), target.book()["types"]
        text = run("heap", target.pid, "--exact").stdout
    for name in (SESSION, "bytearray"):
        assert book[name] <= rows[name]["objects"] <= 1.05 * book[name], rows[name]
    assert "There are no pools (PYTHONMALLOC=malloc?)" in text


def test_wrong_command_lines():
    refused(tachbpf("heap"), "nothing selected", status=2)
    refused(tachbpf("heap", "-a", "1"), "mutually exclusive", status=2)
    refused(tachbpf("heap", "x"), "--pid 'x'", status=2)
    refused(tachbpf("heap", "1", "--sort", "growth"), "requires --since", status=2)
    refused(tachbpf("heap", "1", "--since", "25h"), "tachbpf diff before.json after.json", status=2)
