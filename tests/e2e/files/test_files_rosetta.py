# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""convert, split and diff on what is not TACH: every format that is read into every one that is written."""
import json
import os
import re
import struct

import pytest

from captures import GOLDEN, stacks
from command import good, refused, run

IMPORTS = sorted(p for d, glob in (("collapsed", "*.folded"), ("speedscope", "*.json"),
                                   ("gperftools", "*.prof"))
                 for p in (GOLDEN.parent / d).glob(glob))
# Of memory: some formats have no bytes.
COUNTS = [p for p in IMPORTS if p.name != "austin_memory.folded"]
MEMORY = GOLDEN.parent / "mlyze" / "basic.mlyze"
SUFFIXES = {"folded": "collapsed", "speedscope.json": "speedscope", "gecko.json": "gecko",
            "pb.gz": "pprof", "prof": "gperftools", "perl.prof": "gperftools-perl",
            "pstats": "pstats", "jsonl": "jsonl", "csv": "csv", "html": "flamegraph",
            "heatmap.html": "heatmap", "svg": "svg", "json": "speedscope", "txt": "collapsed",
            "collapsed": "collapsed", "pprof": "pprof"}


@pytest.mark.parametrize("path", IMPORTS, ids=lambda p: p.name)
def test_imports_become_tach(tmp_path, path):
    out = tmp_path / "x.tach"
    profiles = json.loads(good("info", "--json", path))["files"]
    if len(profiles) > 1:
        refused(run("convert", path, "-o", out), "holds one process")
    elif profiles[0]["unit"] == "bytes":
        refused(run("convert", path, "-o", out), "counts bytes", "--format")
    else:
        good("convert", path, "-o", out)
        verdict, = json.loads(good("info", "--verify", "--json", out))["files"]
        assert verdict["sound"] and verdict["checksum"] == "right"
        assert stacks(good("replay", out)) == stacks(good("replay", "--value", "samples", path))
        return
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("path", [GOLDEN / "cpu_raw.bin", *COUNTS[:4]], ids=lambda p: p.name)
def test_the_name_says_the_format(tmp_path, path, suffix):
    out, same = tmp_path / f"x.{suffix}", tmp_path / "same"
    good("convert", path, "-o", out)
    good("replay", path, "--format", SUFFIXES[suffix], "-o", same)
    got, want = out.read_bytes(), same.read_bytes()
    if suffix == "jsonl":               # every run has an id of its own, 32 digits
        got, want = (re.sub(rb'"run_id":"[0-9a-f]{32}"', b"", t) for t in (got, want))
    assert got == want


def test_memory_has_no_samples(tmp_path):
    for suffix in ("tach", "pstats", "prof"):
        refused(run("convert", MEMORY, "-o", tmp_path / f"x.{suffix}"), "bytes")
    refused(run("convert", GOLDEN / "cpu_raw.bin", "-o", tmp_path / "x.native.prof"),
            "machine address")
    refused(run("split", MEMORY, "-o", tmp_path / "dir", "--by", "thread"), "counts bytes")
    assert os.listdir(tmp_path) in ([], ["dir"])
    good("convert", MEMORY, "-o", tmp_path / "x.folded", "--value", "peak")
    assert (tmp_path / "x.folded").read_text() == good("replay", MEMORY, "--value", "peak")


def test_processes_of_one_file_can_be_chosen(tmp_path):
    both = GOLDEN.parent / "collapsed" / "processes.folded"
    good("convert", both, "-o", tmp_path / "12.tach", "--process", "12")
    assert sum(stacks(good("replay", tmp_path / "12.tach")).values()) == 8
    good("convert", both, "-o", tmp_path / "app.tach", "--process", "a*")
    assert (tmp_path / "app.tach").read_bytes() == (tmp_path / "12.tach").read_bytes()
    refused(run("report", both, "--process", "14"), "matches --process")
    good("split", both, "-o", tmp_path / "dir", "--by", "process")
    profiles = json.loads(good("info", "--json", both))["files"]
    assert len(list((tmp_path / "dir").glob("*.tach"))) == len(profiles) > 1
    want = stacks(good("replay", both))
    assert sum(stacks(good("replay", tmp_path / "dir")).values()) == sum(want.values())


def test_no_times_no_stretch_of_time(tmp_path):
    path = GOLDEN.parent / "collapsed" / "generic.folded"
    refused(run("report", path, "--from", "1"), "no timestamps")
    refused(run("split", path, "-o", tmp_path / "dir", "--by", "time"), "no timestamps")


@pytest.mark.parametrize("lines", ["a 1073741826\n", "a 1000000000\nb 100000000\n",
                                   "a 9223372036854775807\n"])
def test_huge_counts_are_no_way_to_fill_a_disk(tmp_path, lines):
    path = tmp_path / "in.folded"
    path.write_text(lines)
    refused(run("convert", path, "-o", tmp_path / "x.tach", "--compression", "none",
                preexec_fn=limit_files), "2^30")
    assert os.listdir(tmp_path) == ["in.folded"]
    good("convert", path, "-o", tmp_path / "x.csv")


def limit_files():
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 30, 4 << 30))


def test_diff_of_different_things(tmp_path):
    refused(run("diff", GOLDEN / "cpu_raw.bin", MEMORY), "samples", "bytes")
    rows = json.loads(good("diff", "--json", MEMORY, MEMORY))
    assert rows["a"]["unit"] == rows["b"]["unit"] == "bytes"
    assert all(r["self_delta"] == 0 for r in rows["rows"])
    refused(run("diff", GOLDEN / "cpu_raw.bin", tmp_path / "none", "--format", "flamegraph", "-o",
                tmp_path / "x.html"), "none")
    assert not os.listdir(tmp_path)


def test_merge_says_what_to_do(tmp_path):
    refused(run("merge", IMPORTS[0], "-o", tmp_path / "x"), "not a TACH file", "convert")


def test_verify_reads_every_format(tmp_path):
    for path in IMPORTS:
        verdict, = json.loads(good("info", "--verify", "--json", path))["files"]
        assert verdict["sound"] and verdict["checksum"] == "none"
    bad = tmp_path / "bad.mlyze"
    bad.write_bytes(MEMORY.read_bytes()[:-3] + struct.pack("<H", 7))
    done = run("info", "--verify", bad)
    assert done.returncode == 1 and "sound" not in done.stdout
