# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Small files whose exports would be large: the size is said before anything is written, and more
than 1 GiB needs --force."""
import re
import subprocess

import pytest

import make_tach
from command import good, refused, run
from paths import binary
from processes import TIMEOUT

SAMPLES = 10 ** 8
ADDED_UP = ("collapsed", "speedscope", "pprof", "gperftools", "pstats", "jsonl", "csv", "flamegraph",
            "heatmap")
# Frames of one stack have names of this length, and so many such stacks differ in one frame.
NAME, DEPTH, STACKS = 60000, 250, 80


@pytest.fixture(scope="module")
def repeats(tmp_path_factory):
    path = tmp_path_factory.mktemp("repeats") / "7-app.tach"
    make_tach.repeats(path, SAMPLES)
    assert path.stat().st_size < 18000
    return path


@pytest.fixture(scope="module")
def long_names(tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "7-app.tach"
    w = make_tach.Writer()
    deep = [("app.py", "f" * NAME, 1)] * (DEPTH - 1)
    for i in range(STACKS):
        w.add(w.stack([("app.py", f"leaf{i}", 1), *deep]), status=make_tach.HOLDS)
    w.write(path)
    assert path.stat().st_size < 200000
    return path


@pytest.mark.parametrize("command", ("replay", "convert"))
def test_gecko_says_its_size_before_it_is_written(command, repeats, tmp_path):
    out = tmp_path / "out.json"
    line = refused(run(command, "--format", "gecko", "-o", out, repeats), "as gecko", "--force")
    assert re.search(r"about 1\.[4-9] GiB, more than 1\.0 GiB", line)
    assert not list(tmp_path.iterdir())


def test_samples_that_are_selected_count(repeats, tmp_path):
    """How many they are is not known before they are read."""
    out = tmp_path / "out.json"
    few = ("replay", "--format", "gecko", repeats, "-o", out)
    refused(run(*few, "--thread", 7), "as gecko", "--force")
    assert not out.exists()
    good(*few, "--to", "0.1")
    assert out.stat().st_size > 30000 * 10


def test_force_writes_it(repeats):
    """To nowhere: 1.4 GB are written in full."""
    with open("/dev/null", "w") as null:
        done = subprocess.run([binary(), "replay", "--format", "gecko", "--force", repeats],
                              stdout=null, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("fmt", ADDED_UP)
def test_repeats_are_small_where_they_are_added_up(fmt, repeats, tmp_path):
    out = tmp_path / "out"
    good("replay", "--format", fmt, "-o", out, repeats)
    assert out.stat().st_size < 1 << 20


@pytest.mark.parametrize("fmt", ("collapsed", "csv"))
def test_stacks_that_spell_long_names(fmt, long_names, tmp_path):
    out = tmp_path / "out"
    line = refused(run("replay", "--format", fmt, "-o", out, long_names), f"as {fmt}", "--force")
    assert re.search(r"about 1\.1 GiB", line)
    assert not out.exists()
    # A forced one is written: half of the stacks would be, too.
    with subprocess.Popen([binary(), "replay", "--format", fmt, "--force", long_names],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert len(process.stdout.read(1 << 20)) == 1 << 20
        process.stdout.close()
        process.wait(TIMEOUT)


@pytest.mark.parametrize("fmt", ("speedscope", "gecko", "pprof", "gperftools", "pstats", "jsonl",
                                 "flamegraph", "heatmap"))
def test_names_are_written_once_elsewhere(fmt, long_names, tmp_path):
    out = tmp_path / "out"
    good("replay", "--format", fmt, "-o", out, long_names)
    assert out.stat().st_size < 8 << 20
