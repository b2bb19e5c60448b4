# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A flight recorder: what was before a trigger is written, nothing that is older, and it goes on."""
import json
import re
import shutil
import signal
import time

import pytest

from command import run
from processes import use_cpu
from recording import succeeded, tachbpf
from speaking import Speaking
from target import Target


@pytest.fixture
def quiet(scratch, python):
    with Target(python, scratch, program="burns.py") as target:
        yield target


def burn(target, name, seconds):
    """Returns when the function has used so much CPU time: the time then (CLOCK_MONOTONIC, us)."""
    target.process.stdin.write(f"{name} {seconds}\n")
    target.process.stdin.flush()
    target.expect("done")
    return time.monotonic_ns() // 1000


def ask(recorder, path):
    """A signal; returns when its recording, of this name, is written."""
    recorder.process.send_signal(signal.SIGUSR2)
    recorder.expect(f"wrote {path}")
    return json.loads((path / "session.json").read_text())


def numbered(out, number):
    return out / f"night.{number:03}"


def functions(path):
    """The names of all functions in a recording."""
    rows = json.loads(succeeded(run("report", path, "--json", "--limit", "0")).stdout)["rows"]
    return {row["function"] for row in rows}


def armed(quiet, out, *argv):
    return Speaking(["-p", quiet.pid, "-o", out / "night", *argv])


def test_the_seconds_before_a_condition(quiet, out):
    with armed(quiet, out, "--keep", "60s", "--when", "cpu>5% for 1s") as recorder:
        recorder.expect("armed: waiting for cpu>5% for 1s")
        recorder.expect("armed: keeping the last 60 s")
        burn(quiet, "late", 3)
        said = recorder.expect(f"triggered: cpu>5% for 1s: process {quiet.pid} (burns.py ")
        assert re.search(r" used \d+ % of a CPU for 1 s$", said), said
        # The answer, as after any recording.
        for words in "night.001: ", "Trigger: cpu>5% for 1s: process", "CPU: ", "Hottest lines", "burns.py:", "Next":
            recorder.expect(words)
        recorder.expect(f"wrote {numbered(out, 1)}")
        finished = succeeded(recorder.stop())
    session = json.loads((numbered(out, 1) / "session.json").read_text())
    assert session["trigger"] == said.partition("triggered: ")[2], finished
    assert any(name.endswith("late") for name in functions(numbered(out, 1)))
    assert numbered(out, 2).is_dir()        # Ctrl-C writes, too


def test_each_signal_writes_one_and_nothing_older(quiet, out):
    with armed(quiet, out, "--keep", "2s", "--signal", "USR2", "-r", "99") as recorder:
        recorder.expect("armed: waiting for SIGUSR2")
        recorder.expect("armed: keeping")
        early_us = burn(quiet, "early", 1)
        begun = ask(recorder, numbered(out, 1))["start_monotonic_us"]
        number = 1
        while begun <= early_us:            # how late a second is judged depends on the machine
            number += 1
            burn(quiet, "late", 0.2)
            begun = ask(recorder, numbered(out, number))["start_monotonic_us"]
        finished = succeeded(recorder.stop())
    assert number > 1, finished
    assert any(name.endswith("early") for name in functions(numbered(out, 1)))
    last = functions(numbered(out, number))
    assert any(name.endswith("late") for name in last)
    assert not any(name.endswith("early") for name in last), last
    with_trigger = json.loads((numbered(out, number) / "session.json").read_text())
    assert with_trigger["trigger"] == "signal SIGUSR2"
    assert with_trigger["samples"] > 0


def test_a_process_that_ended_has_its_names(quiet, out):
    with armed(quiet, out, "--children", "--keep", "60s", "--signal", "SIGUSR2") as recorder:
        recorder.expect("armed: keeping")
        burn(quiet, "child", 1)
        session = ask(recorder, numbered(out, 1))
        succeeded(recorder.stop())
    child = [p for p in session["processes"] if " gone " in p["command"]]
    assert len(child) == 1 and child[0]["samples"] > 0
    assert child[0]["pid"] != quiet.pid
    assert any(name.endswith("gone") for name in functions(numbered(out, 1)))


def test_what_comes_after_the_trigger(quiet, out):
    argv = "--keep", "60s", "--signal", "USR2", "-d", "2", "--triggers", "1"
    with armed(quiet, out, *argv) as recorder:
        recorder.expect("armed: keeping")
        burn(quiet, "early", 1)
        recorder.process.send_signal(signal.SIGUSR2)
        recorder.expect("recording into")
        burn(quiet, "late", 0.1)
        succeeded(recorder.wait())
    named = functions(out / "night")
    assert any(name.endswith("early") for name in named)
    session = json.loads((out / "night" / "session.json").read_text())
    assert session["duration_s"] >= 2


def test_without_keep_it_begins_at_the_trigger(quiet, out):
    with armed(quiet, out, "--signal", "USR2", "-r", "999") as recorder:
        recorder.expect("armed: waiting for SIGUSR2")
        burn(quiet, "early", 1)
        assert not list(out.iterdir())
        recorder.process.send_signal(signal.SIGUSR2)
        recorder.expect("recording into")
        burn(quiet, "late", 1)
        succeeded(recorder.stop())
    named = functions(out / "night")
    assert any(name.endswith("late") for name in named)
    assert not any(name.endswith("early") for name in named)


def test_without_a_trigger_nothing_is_written(quiet, out):
    with armed(quiet, out, "--when", "threads>100000") as recorder:
        recorder.expect("armed: waiting for threads>100000")
        finished = succeeded(recorder.stop())
    assert "there was no trigger" in finished.stderr
    assert not list(out.iterdir())


def test_ctrl_c_writes_what_is_kept(quiet, out):
    with armed(quiet, out, "--keep", "60s") as recorder:
        recorder.expect("armed: keeping")
        burn(quiet, "late", 1)
        succeeded(recorder.stop(signal.SIGINT))
    assert any(name.endswith("late") for name in functions(out / "night"))


def test_a_place_that_is_gone_does_not_end_it(quiet, out):
    place = out / "place"
    place.mkdir()
    with Speaking(["-p", quiet.pid, "-o", place / "night", "--keep", "60s", "--signal",
                   "USR2"]) as recorder:
        recorder.expect("armed: keeping")
        burn(quiet, "late", 0.5)
        shutil.rmtree(place)
        recorder.process.send_signal(signal.SIGUSR2)
        recorder.expect("nothing is written; retrying")
        place.mkdir()
        ask(recorder, numbered(place, 1))
        finished = recorder.stop()
    assert finished.returncode == 1, finished
    assert any(name.endswith("late") for name in functions(numbered(place, 1)))


def test_a_full_disk_does_not_end_it(scratch, python, out):
    """The small disk lives in a mount namespace that ends with the recorder."""
    shell = 'mount -t tmpfs -o size=256k none "$0" || exit 99; exec "$@"'
    with Target(python, scratch, "recycled=600") as target:
        target.go()
        with Speaking(["-p", target.pid, "--keep", "60s", "--signal", "USR2", "-r", "10khz",
                       "--compression", "none", "-o", out / "night"],
                      prefix=["unshare", "--mount", "sh", "-c", shell, str(out)]) as recorder:
            recorder.expect("armed: keeping")
            said = ""
            while "wrote" in said or not said:      # each recording takes some of the disk
                use_cpu(target.pid, 0.5)
                recorder.process.send_signal(signal.SIGUSR2)
                said = recorder.expect("wrote", "is incomplete", "nothing is written")
            recorder.process.send_signal(signal.SIGUSR2)
            recorder.expect("wrote", "is incomplete", "nothing is written")
            finished = recorder.stop()
    assert finished.returncode == 1, finished
    assert "o space left" in finished.stderr, finished


def test_earlier_recordings_stay(quiet, out):
    argv = "--keep", "60s", "--signal", "USR2"
    for number in 1, 2:
        with armed(quiet, out, *argv) as recorder:
            recorder.expect("armed: keeping")
            burn(quiet, "late", 0.5)
            ask(recorder, numbered(out, 2 * number - 1))
            succeeded(recorder.stop())
    assert [p.name for p in sorted(out.iterdir())] == [f"night.00{i}" for i in (1, 2, 3, 4)]
    (out / "night").mkdir()
    shutil.copytree(numbered(out, 1), out / "night", dirs_exist_ok=True)
    refused = tachbpf("-p", quiet.pid, "-o", out / "night", "--keep", "60s")
    assert refused.returncode == 1 and "--force" in refused.stderr, refused


@pytest.mark.parametrize("argv, words", [
    (["--when", "cpu>x% for 5s"], ["at 'x% for 5s'", "percent"]),
    (["--when", "cpu>90% for"], ["at its end", "1s to 1h"]),
    (["--when", "gil>80%", "-m", "exception"], ["gil>80%", "records only some"]),
    (["--when", "cpu>80%", "-m", "gil"], ["cpu>80%", "hold or want the GIL"]),
    (["--when", "gc>8%", "--no-gc"], ["gc>8%", "--no-gc"]),
    (["--keep", "60s", "-m", "mem"], ["from the beginning"]),
    (["--keep", "0.5s"], ["1s to 24h"]),
    (["--signal", "KILL"], ["USR1 or USR2"]),
    (["--triggers", "3"], ["--when or --signal"]),
    (["--keep", "60s", "--html", "x.html"], ["--html", "tachbpf open"]),
])
def test_what_is_refused(argv, words):
    refused = tachbpf("-a", *argv)
    line, = refused.stderr.splitlines()
    assert refused.returncode == 2, refused
    for word in words:
        assert word in line, refused
