# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Large recordings are read in parts at the same time: what is printed is as with one CPU, which reads file after file."""
import os

import pytest

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

    def compare(*command):
        try:
            os.sched_setaffinity(0, {min(cpus)})
            one = run(*command)
        finally:
            os.sched_setaffinity(0, cpus)
        many = run(*command)
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


def test_filters(large, alike):
    assert "shared_5" in alike("report", "--process", "app1", "--focus", "shared_5", large).stdout
    assert alike("report", "--process", "nobody", large).stderr.count("no file is of a process") == 1


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
    assert done.stderr.count("give it a report of its own") == 1 and done.returncode != 0
    alike("diff", large, large)
