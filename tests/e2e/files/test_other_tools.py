# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files of other tools and of other kinds: read as their own tools read them, or named, with the way."""
import json
import shutil

import pytest

import speedscope
from captures import GOLDEN
from command import good, refused, run

EVENTED = GOLDEN.parent / "speedscope" / "evented.json"
MEMORY = GOLDEN.parent / "mlyze" / "basic.mlyze"
AUSTIN = GOLDEN.parent / "collapsed" / "austin.folded"


def test_evented_as_speedscope_reads_it(tmp_path):
    """What its importer makes of the file, and of what we write after reading it."""
    def weights(path, scales):
        return [{stack: round(weight * scale) for stack, weight in profile["stacks"].items() if weight}
                for profile, scale in zip(speedscope.imported(speedscope.package(), path)["profiles"], scales,
                                          strict=True)]

    ours = tmp_path / "ours.json"
    good("replay", EVENTED, "--format", "speedscope", "-o", ours)
    want = weights(EVENTED, (1e9, 1))
    assert weights(ours, (1, 1)) == want and sum(want[0].values()) == 2375000000


def test_austin_counts_microseconds():
    first, *_ = json.loads(good("info", "--json", AUSTIN))["files"]
    assert (first["unit"], first["total"], first["mode"]) == ("nanoseconds", 155000, "wall")


@pytest.fixture
def recorded(tmp_path):
    """What a recording leaves: X.tach, X.tach.json, and a directory with session.json."""
    process = {"pid": 12, "comm": "app", "file": "12-app.tach"}
    said = json.dumps({"mode": "offcpu", "duration_s": 1.5, "processes": [process]})
    shutil.copy(GOLDEN / "wall_zstd.bin", tmp_path / "X.tach")
    (tmp_path / "X.tach.json").write_text(said)
    (tmp_path / "dir").mkdir()
    shutil.copy(GOLDEN / "cpu_raw.bin", tmp_path / "dir" / "12-app.tach")
    (tmp_path / "dir" / "session.json").write_text(said.replace("offcpu", "cpu"))
    return tmp_path


def test_a_pattern_of_the_shell_passes_over_the_json_beside(recorded):
    for pattern in ("X*", "dir/*"):
        paths = sorted(recorded.glob(pattern))
        profile, = (p for p in paths if p.suffix == ".tach")
        assert len(paths) == 2
        assert json.loads(good("report", "--json", *paths)) == json.loads(good("report", "--json", profile))
        good("info", *paths)


def test_a_json_beside_a_recording_is_no_profile(recorded):
    for path in (recorded / "X.tach.json", recorded / "dir" / "session.json"):
        refused(run("report", path), "summary of a recording", "use its directory, or the .tach")


def test_offcpu_is_not_called_wall(recorded):
    path = recorded / "X.tach"
    assert good("report", path).splitlines()[0].endswith(", offcpu mode")
    assert json.loads(good("report", "--json", path))["mode"] == "offcpu"
    file, = json.loads(good("info", "--json", path))["files"]
    assert file["mode"] == "offcpu"
    # A file that is made of it is of wall mode: TACH has no other word.
    good("convert", path, "-o", recorded / "y.tach")
    assert good("report", recorded / "y.tach").splitlines()[0].endswith(", wall mode")


def test_a_profile_of_another_kind_is_named(recorded):
    refused(run("mem", recorded / "X.tach"), "a profile of time, not of memory", "tachbpf report")
    done = run("mem", "--json", recorded / "X.tach")
    assert "a profile of time" in done.stderr and "a profile of time" in json.loads(done.stdout)["files"][0]["error"]
    refused(run("mem", AUSTIN), "in the format collapsed", "tachbpf report")
    refused(run("gil", MEMORY), "a profile of memory", "tachbpf mem")
    other = recorded / "x.cpuprofile"
    other.write_text('{"nodes":[],"timeDeltas":[]}')
    for command in ("report", "mem", "gil", "info", "replay"):
        refused(run(command, other), "Chrome CPU profile", "speedscope")
    refused(run("mem", "--validate", recorded / "X.tach"), "rule 1 (magic)")


def test_a_file_with_two_units_is_reported_in_its_first(recorded):
    done = run("report", EVENTED)
    assert done.returncode == 0 and "evented.json, 1 profile: 2.375 s sampled" in done.stdout
    assert done.stderr.count("\n") == 1 and "also counts bytes" in done.stderr
