# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where a recording writes: a directory, a file with FILE.json, a command's file and FILE.d; and
what happens to an earlier recording in its place."""
import json
import os
import signal
import time

import pytest

from processes import TIMEOUT, use_cpu
from recording import Recording, succeeded, tachbpf
from summary import files, tach_files
from target import Target

BURN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
PARENT = ("import subprocess, sys\ndef child(): pass\n"
          f"subprocess.run([sys.executable, '-c', {BURN!r}])\n" + BURN)


@pytest.fixture
def busy(scratch, python):
    with Target(python, scratch, "shares=600") as target:
        target.go()
        yield target


def refused(finished, *words, status=1):
    assert finished.returncode == status, repr(finished)
    line, = finished.stderr.splitlines()
    for word in words:
        assert word in line, repr(finished)


def recorded(busy, path, *more):
    """Of one process, some samples. The summary."""
    with Recording(["-p", busy.pid, "-o", path, "--json", *more]) as recording:
        recording.wait_recording()
        use_cpu(busy.pid, 0.3)
        return succeeded(recording.stop()).summary


# ---- an earlier recording ----

def test_a_file_is_not_overwritten(busy, out):
    recorded(busy, out / "x.tach")
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    refused(tachbpf("-p", busy.pid, "-d", "0.1", "-o", out / "x.tach"), "x.tach", "--force")
    refused(tachbpf("-o", out / "x.tach", "--", "true"), "x.tach", "--force")
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


def test_what_only_its_json_is_left_of_is_not_overwritten(busy, out):
    recorded(busy, out / "x.tach")
    (out / "x.tach").unlink()
    refused(tachbpf("-p", busy.pid, "-d", "0.1", "-o", out / "x.tach"), "x.tach.json", "--force")


def test_an_empty_file_is_overwritten(busy, out):
    (out / "x.tach").touch()        # as mktemp makes them
    assert recorded(busy, out / "x.tach")["samples"]


def test_force_replaces_a_file(busy, out):
    recorded(busy, out / "x.tach")
    old = (out / "x.tach").read_bytes()
    with Recording(["-p", busy.pid, "-o", out / "x.tach", "--force"]) as recording:
        recording.wait_recording()
        assert (out / ".x.tach.replaced").read_bytes() == old   # whole until the new one is
        use_cpu(busy.pid, 0.3)
        succeeded(recording.stop())
    assert sorted(os.listdir(out)) == ["x.tach", "x.tach.json", "x.tach.sources.json"]
    assert (out / "x.tach").read_bytes() != old


def test_force_replaces_a_directory(busy, out):
    succeeded(tachbpf("-a", "-d", "0.5", "-o", out / "x"))
    old = (out / "x" / "session.json").read_bytes()
    refused(tachbpf("-a", "-d", "0.1", "-o", out / "x"), "already holds a recording", "--force")
    succeeded(tachbpf("-a", "-d", "0.5", "-o", out / "x", "--force"))
    assert (out / "x" / "session.json").read_bytes() != old
    assert os.listdir(out) == ["x"]


def test_force_replaces_nothing_but_recordings(busy, out):
    (out / "notes").write_text("my notes")
    succeeded(tachbpf("-a", "-d", "0.5", "-o", out / "x"))
    (out / "x" / "notes").write_text("my notes")
    refused(tachbpf("-p", busy.pid, "-o", out / "notes", "--force"), "notes", "not part of a recording")
    refused(tachbpf("-a", "-d", "0.1", "-o", out / "x", "--force"), "'notes'", "not part of a recording")
    assert (out / "notes").read_text() == (out / "x" / "notes").read_text() == "my notes"
    assert tach_files(out / "x")


@pytest.mark.parametrize("argv,status", [
    (["--", "/no/such/command"], 127), (["-C", "4000", "--", "true"], 1), (["--", "true"], 3)])
def test_a_recording_that_comes_to_nothing_destroys_nothing(busy, out, argv, status):
    recorded(busy, out / "x.tach")
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    done = tachbpf("-o", out / "x.tach", "--force", *argv)
    assert done.returncode == status, repr(done)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


def test_a_signal_before_the_first_sample_leaves_the_earlier_recording(busy, out):
    """Whenever it comes: then there is the old recording, or the new one."""
    recorded(busy, out / "x.tach")
    with Recording(["-p", busy.pid, "-o", out / "x.tach", "--force"]) as recording:
        end = time.monotonic() + TIMEOUT
        while not (out / ".x.tach.replaced").exists():
            assert time.monotonic() < end and recording.process.poll() is None
            time.sleep(0.001)
        status = recording.stop().returncode
    assert status in (0, 128 + signal.SIGINT)
    assert set(os.listdir(out)) - {"x.tach.sources.json"} == {"x.tach", "x.tach.json"}     # no samples, no sources
    assert "sound" in succeeded(tachbpf("info", "--verify", out / "x.tach")).stdout


# ---- a command ----

def test_a_name_that_ends_in_tach_is_the_commands_file(python, out, oracle):
    summary = succeeded(tachbpf("-r", "999", "-o", out / "app.tach", "--no-source", "--json", "--",
                                *python.command("-c", BURN))).summary
    assert sorted(os.listdir(out)) == ["app.tach", "app.tach.json"]
    assert oracle.load(out / "app.tach")[0].replayed == summary["samples"] > 0


def test_its_childrens_profiles_are_beside_it(python, out, oracle):
    summary = succeeded(tachbpf("-r", "999", "-o", out / "app.tach", "--no-source", "--split", "all", "--json",
                                "--", *python.command("-c", PARENT))).summary
    assert sorted(os.listdir(out)) == ["app.tach", "app.tach.d", "app.tach.json"]
    rows = files(summary)
    assert {f["path"] for f in rows} == {out / "app.tach", *tach_files(out / "app.tach.d")}
    assert sum(p.replayed for p in oracle.load(*(f["path"] for f in rows))) == summary["samples"]
    session = json.loads((out / "app.tach.d" / "session.json").read_text())
    assert session["processes"] == summary["processes"]
    own, = json.loads((out / "app.tach.json").read_text())["processes"]
    assert own["file"] == "app.tach" and own == summary["processes"][0]


def test_no_children_no_directory(python, out):
    succeeded(tachbpf("-r", "999", "-o", out / "app.tach", "--no-source", "--no-children", "--",
                      *python.command("-c", PARENT)))
    assert sorted(os.listdir(out)) == ["app.tach", "app.tach.json"]


def test_of_a_command_that_is_no_python_its_children_are_there(python, out):
    script = out / "run.sh"
    script.write_text('"$@"\ntrue\n')
    done = succeeded(tachbpf("-r", "999", "-o", out / "app.tach", "--", "sh", script,
                             *python.command("-c", BURN)))
    assert sorted(os.listdir(out)) == ["app.tach.d", "run.sh"]
    assert tach_files(out / "app.tach.d") and "app.tach.d" in done.stderr


# ---- FILE.json ----

NAMED = """
import ctypes, threading, time
def work():
    ctypes.CDLL(None).prctl(15, b"the-worker", 0, 0, 0)
    end = time.monotonic() + 1
    while time.monotonic() < end: pass
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


@pytest.fixture
def named(python, out):
    """A single file of a program with a thread that has a name."""
    path = out / "named.tach"
    succeeded(tachbpf("-r", "999", "-o", path, "--", *python.command("-c", NAMED)))
    return path


def good(*argv):
    done = succeeded(tachbpf(*argv))
    assert not done.stderr, repr(done)
    return done.stdout


def test_a_file_keeps_names_and_command(named):
    row, = json.loads(named.with_name("named.tach.json").read_text())["processes"]
    assert "the-worker" in row["thread_names"].values()
    info, = json.loads(good("info", "--json", named))["files"]
    assert (info["pid"], info["comm"], info["command"]) == (row["pid"], row["comm"],
                                                            row["command"])
    assert "the-worker" in {t["name"] for t in info["threads"]}
    assert info["lost"] is not None
    assert "the-worker" in good("report", "--by", "thread", named)
    assert "the-worker" in good("convert", named, "--format", "speedscope", "-o", "-")
    assert "the-worker" in good("gil", "--json", named)
    assert good("report", "--process", row["pid"], named) == good("report", named)


def test_a_process_that_is_asked_for_keeps_its_command(busy, out):
    recorded(busy, out / "x.tach")
    info, = json.loads(good("info", "--json", out / "x.tach"))["files"]
    assert info["pid"] == busy.pid and "shares=600" in info["command"]


def test_a_file_keeps_its_container(named):
    beside = named.with_name("named.tach.json")
    session = json.loads(beside.read_text())
    assert "container" in session["processes"][0]       # null, or the one that these tests run in
    session["processes"][0]["container"] = {"label": "web", "image": "shop/web:1"}
    beside.write_text(json.dumps(session))
    rows = json.loads(good("report", "--by", "container", "--json", named))["rows"]
    assert [(r["container"], r["image"]) for r in rows] == [("web", "shop/web:1")]


def test_names_follow_a_file_that_is_renamed(named, out):
    for suffix in ("", ".json"):
        os.rename(f"{named}{suffix}", out / f"other.tach{suffix}")
    assert "the-worker" in good("report", "--by", "thread", out / "other.tach")
    assert "the-worker" in good("report", "--by", "thread", out)


def test_commands_that_write_files_do_not_mix_up_names(named, out):
    """What is written has no names; what it replaces takes its FILE.json with it."""
    other = out / "new.tach"
    good("convert", named, "-o", other)
    assert "the-worker" not in good("report", "--by", "thread", other)
    other.with_name("new.tach.json").write_bytes(
        named.with_name("named.tach.json").read_bytes())
    good("merge", named, "-o", other)
    assert not other.with_name("new.tach.json").exists()
    good("merge", named, other, "-o", named)
    assert "the-worker" in good("report", "--by", "thread", named)
    assert "nothing to recover" in good("recover", named)
    assert "the-worker" in good("report", "--by", "thread", named)


def test_runs_of_a_program_are_merged(python, out):
    """Each has another pid, and its FILE.json says so: that is no reason to refuse."""
    for name in ("monday", "tuesday"):
        succeeded(tachbpf("-r", "999", "-o", out / f"{name}.tach", "--",
                          *python.command("-c", BURN)))
    good("merge", out / "monday.tach", out / "tuesday.tach", "-o", out / "both.tach")


def test_a_json_of_something_else_is_left_alone(named, out):
    text = good("convert", named, "--format", "collapsed", "-o", "-")
    (out / "x.folded").write_text(text)
    (out / "x.folded.json").write_text('{"my": "settings"}')
    good("report", out / "x.folded")
    named.with_name("named.tach.json").write_text("{")
    done = tachbpf("report", named)
    assert done.returncode == 1 and "named.tach.json" in done.stderr
