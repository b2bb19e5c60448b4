# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Large recordings are read in parts at the same time: what is printed is as with one CPU, which reads file after file."""
import os

import pytest

import make_tach
from command import run

# Files of some 300 KiB: six have more than two parts of 1 MiB (user/commands/profile_parts.h).
FILES, STACKS = 12, 6000


@pytest.fixture
def large(tmp_path):
    """A directory of collapsed stacks under the names of a recording; processes share some functions."""
    directory = tmp_path / "large"
    directory.mkdir()
    for pid in range(1, FILES + 1):
        lines = [f"main (/srv/app.py:1);p{pid}_{i % 50} (/srv/p{pid}.py:{i % 50 + 1});shared_{i * pid % 97} (/srv/lib.py:{i % 97 + 1}) "
                 f"{i * 7919 % 89 + 1}" for i in range(STACKS)]
        (directory / f"{pid}-app{pid % 3}.tach").write_text("\n".join(lines) + "\n")
    assert sum(p.stat().st_size for p in directory.iterdir()) > 4 << 20
    return directory


@pytest.fixture
def alike():
    """Runs a command on one CPU and on all: what it prints, twice the same."""
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        pytest.skip("SKIP: this machine has one CPU, and then files are read one after another")

    def compare(*command, each=lambda: None):
        try:
            os.sched_setaffinity(0, {min(cpus)})
            one = run(*command)
            each()
        finally:
            os.sched_setaffinity(0, cpus)
        many = run(*command)
        each()
        assert (one.returncode, one.stdout, one.stderr) == (many.returncode, many.stdout, many.stderr)
        return many
    yield compare
    os.sched_setaffinity(0, cpus)


@pytest.mark.parametrize("by", ["function", "line", "process", "thread", "container"])
def test_report(large, alike, by):
    done = alike("report", "--by", by, "--limit", 0, "--json", large)
    total = FILES * sum(i * 7919 % 89 + 1 for i in range(STACKS))
    assert done.returncode == 0 and f'"samples": {total}' in done.stdout
    alike("report", "--by", by, large)


@pytest.mark.parametrize("options", [["--mine"], ["--annotate"], ["--annotate", "--mine", "--sort", "total"]])
def test_project_and_source(large, alike, options):
    assert "shared_" in alike("report", *options, "--limit", 0, "--json", large).stdout
    alike("report", *options, large)


def test_filters(large, alike):
    assert "shared_5" in alike("report", "--process", "app1", "--focus", "shared_5", large).stdout
    assert alike("report", "--process", "nobody", large).stderr.count("no file contains a process") == 1


def test_diff(large, alike):
    lines = alike("diff", large, large / "3-app0.tach").stdout
    assert "shared_" in lines
    alike("diff", "--json", "--limit", 0, large, large)


def test_damage_is_said_in_the_order_of_the_files(large, alike):
    for pid in (2, 7, 11):
        (large / f"{pid}-app{pid % 3}.tach").write_bytes(b"TACH\x00 no profile" * 20000)
    done = alike("report", large)
    said = [line for line in done.stderr.splitlines() if "error" in line]
    assert done.returncode != 0 and len(said) == 3
    assert [pid for line in said for pid in (2, 7, 11) if f"/{pid}-app" in line] == [2, 7, 11]


def test_units_that_differ_are_refused_as_before(large, alike):
    """Then the files are read again, one after another: which of them is refused does not depend on parts."""
    memory = large.parent / "memory.mlyze"
    golden = os.path.join(os.path.dirname(__file__), "../../golden/mlyze/basic.mlyze")
    with open(golden, "rb") as f:
        memory.write_bytes(f.read())
    memory.rename(large / "6-app.mlyze")
    done = alike("report", large)
    assert done.stderr.count("report it separately") == 1 and done.returncode != 0
    alike("diff", large, large)


@pytest.fixture
def recording(tmp_path):
    """A directory of TACH files, whose samples have times."""
    directory = tmp_path / "recording"
    directory.mkdir()
    for pid in range(1, 9):
        make_tach.synthetic(directory / f"{pid}-app{pid % 3}.tach", 300, 16000, 20, seed=pid % 5, threads=pid,
                            start_us=1000000 * pid)
    assert sum(p.stat().st_size for p in directory.iterdir()) > 2 << 20
    return directory


def pages(alike, tmp_path, *inputs):
    """The page of the files as one CPU makes it and as all do: the same."""
    page, made = tmp_path / "page.html", []
    alike("replay", "--format", "flamegraph", "-o", page, *inputs, each=lambda: made.append(page.read_bytes()))
    assert len(made) == 2 and made[0] == made[1] and len(made[0]) > 10000


def test_flamegraph(large, recording, alike, tmp_path):
    pages(alike, tmp_path, large)
    pages(alike, tmp_path, recording)
    pages(alike, tmp_path, recording, large, recording)
    pages(alike, tmp_path, "--process", "app1", "--from", "0.5", recording)


def test_flamegraph_of_damaged_files(recording, alike, tmp_path):
    """What is before the damage counts; who is damaged is said in the order of the files."""
    for pid in (1, 4):
        path = recording / f"{pid}-app{pid % 3}.tach"
        path.write_bytes(b"TACH\x00 no profile" * 20000)
    path = recording / "6-app0.tach"
    data = bytearray(path.read_bytes())
    data[len(data) // 2:len(data) // 2 + 64] = b"\xff" * 64
    path.write_bytes(data)
    pages(alike, tmp_path, recording)
    done = alike("replay", "--format", "flamegraph", "-o", tmp_path / "page.html", recording)
    said = [line for line in done.stderr.splitlines() if "error" in line]
    assert done.returncode != 0
    assert [pid for line in said for pid in (1, 4, 6) if f"/{pid}-app" in line] == [1, 4, 6]


def test_flamegraph_of_units_that_differ(recording, alike, tmp_path):
    """A page of memory and of samples: parts whose clocks differ."""
    golden = os.path.join(os.path.dirname(__file__), "../../golden/mlyze/basic.mlyze")
    with open(golden, "rb") as f:
        (recording / "5-app.mlyze").write_bytes(f.read())
    pages(alike, tmp_path, recording)


def test_flamegraph_that_cannot_be_written(recording, alike, tmp_path):
    done = alike("replay", "--format", "flamegraph", "-o", tmp_path / "none" / "page.html", recording)
    assert done.returncode != 0 and done.stderr.count("none/page.html") == 1
