# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""convert, merge, split, diff, recover and the filters, as a user runs them."""
import collections
import json
import os
import random
import shutil

import pytest

from captures import CAPTURES, GOLDEN, lines_of, stacks
from command import good, refused, run

LAYOUTS = ("release", "draft1", "draft2")


def samples(*argv):
    """How many samples pass, from report's own count."""
    return json.loads(good("report", "--json", *argv))["samples"]


def info(path):
    one, = json.loads(good("info", "--json", path))["files"]
    return one


def sound(*paths):
    for verdict in json.loads(good("info", "--verify", "--json", *paths))["files"]:
        assert verdict["sound"] and verdict["checksum"] == "right", verdict


# ---- convert ----

@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_convert_keeps_everything(tmp_path, name, layout, compression):
    out = tmp_path / "out.tach"
    good("convert", GOLDEN / name, "-o", out, "--layout", layout, "--compression", compression)
    sound(out)
    assert stacks(good("replay", out)) == stacks(good("replay", GOLDEN / name))
    before, after = info(GOLDEN / name), info(out)
    assert after["layout"] == layout and after["compression"] == compression
    assert after["threads"] == before["threads"]
    if layout == before["layout"] == "release":
        for key in ("python", "mode", "features", "start_us", "interval_us", "duration_s",
                    "error_pct", "missed_pct", "frame_count", "string_count"):
            assert after[key] == before[key], key


def test_convert_back_is_the_same_file(tmp_path):
    original = (GOLDEN / "cpu_raw.bin").read_bytes()
    good("convert", GOLDEN / "cpu_raw.bin", "-o", tmp_path / "z.tach")
    good("convert", tmp_path / "z.tach", "-o", tmp_path / "raw", "--compression", "none")
    assert (tmp_path / "raw").read_bytes()[:-16] == original[:-16]


def test_convert_to_what_the_name_says(tmp_path):
    want = good("replay", GOLDEN / "cpu_raw.bin")
    good("convert", GOLDEN / "cpu_raw.bin", "-o", tmp_path / "x.collapsed")
    assert (tmp_path / "x.collapsed").read_text() == want
    good("convert", GOLDEN / "cpu_raw.bin", "-o", tmp_path / "x.tach", "--format", "collapsed")
    assert (tmp_path / "x.tach").read_text() == want
    assert good("convert", GOLDEN / "cpu_raw.bin", "-o", "-", "--format", "collapsed") == want


def test_convert_refuses(tmp_path):
    two = GOLDEN / "cpu_raw.bin", GOLDEN / "wall_zstd.bin"
    refused(run("convert", *two, "-o", tmp_path / "x.tach"), "split", "merge", "2 profiles")
    refused(run("convert", two[0], "-o", "-", "--format", "tach"), "standard output")
    refused(run("convert", two[0], "-o", tmp_path / "x.unknown"), "x.unknown", "--format", ".tach",
            ".folded", ".heatmap.html", status=2)
    refused(run("convert", "-o", tmp_path / "x"), "no input file", status=2)
    assert not os.listdir(tmp_path)


def test_convert_of_damage_keeps_what_came_before(tmp_path):
    whole = bytearray((GOLDEN / "cpu_raw.bin").read_bytes())
    whole[1500:1520] = b"\xff" * 20
    (tmp_path / "bad.tach").write_bytes(whole)
    refused(run("convert", tmp_path / "bad.tach", "-o", tmp_path / "out.tach"), "bad.tach")
    sound(tmp_path / "out.tach")
    assert 0 < samples(tmp_path / "out.tach") < 467
    # of one that cannot be opened nothing is written
    (tmp_path / "none.tach").write_bytes(b"ELF")
    refused(run("convert", tmp_path / "none.tach", "-o", tmp_path / "no.tach"), "not a profile")
    assert not (tmp_path / "no.tach").exists()


def test_converted_in_place(tmp_path):
    shutil.copy(GOLDEN / "cpu_raw.bin", tmp_path / "x.tach")
    good("convert", tmp_path / "x.tach", "-o", tmp_path / "x.tach", "--from", "0.1")
    sound(tmp_path / "x.tach")
    assert os.listdir(tmp_path) == ["x.tach"]


# ---- filters: against the decoded samples ----

STATUS = {"gil": 1, "on-cpu": 2, "unknown": 4, "gil-requested": 8, "exception": 16, "main": 32}
START = 2458805716          # cpu_raw's, CLOCK_MONOTONIC in µs

FILTERS = {
    "--thread 6019": lambda tid, time, status, frames: tid == 6019,
    "--thread 6019 --thread 6020": lambda tid, time, status, frames: tid in (6019, 6020),
    "--from 0.2": lambda tid, time, status, frames: time >= START + 200000,
    "--to 200ms": lambda tid, time, status, frames: time < START + 200000,
    "--from 0.1 --to 0.3": lambda tid, time, status, frames:
        START + 100000 <= time < START + 300000,
    "--from @2459": lambda tid, time, status, frames: time >= 2459000000,
    "--focus ^garbage$": lambda tid, time, status, frames: any(f[1] == "garbage" for f in frames),
    "--ignore garbage": lambda tid, time, status, frames:
        not any("garbage" in f[1] or "garbage" in f[0] for f in frames),
    "--focus threading\\.py": lambda tid, time, status, frames:
        any("threading.py" in f[0] for f in frames),
    "--status gil,!exception": lambda tid, time, status, frames: status & 17 == 1,
    "--status no-gil --status on-cpu": lambda tid, time, status, frames: status & 3 == 2,
    **{f"--status {word}": lambda tid, time, status, frames, bit=bit: status & bit
       for word, bit in STATUS.items()},
    **{f"--status !{word}": lambda tid, time, status, frames, bit=bit: not status & bit
       for word, bit in STATUS.items()},
}


@pytest.mark.parametrize("options", FILTERS)
def test_filters(tmp_path, options):
    keep = FILTERS[options]
    assert info(GOLDEN / "cpu_raw.bin")["start_us"] == START
    want = collections.Counter(
        tid for tid, _, time, status, frames in lines_of("cpu_raw.lines.txt")
        if keep(tid, time, status, frames))
    got = json.loads(good("report", "--json", "--by", "thread", *options.split(),
                          GOLDEN / "cpu_raw.bin"))
    assert {r["thread"]: r["self"] for r in got["rows"]} == want
    # every command sees the same
    out = tmp_path / "out.tach"
    good("convert", *options.split(), GOLDEN / "cpu_raw.bin", "-o", out)
    sound(out)
    assert stacks(good("replay", out)) == \
        stacks(good("replay", *options.split(), GOLDEN / "cpu_raw.bin"))
    assert samples(out) == sum(want.values())


def test_a_filtered_file_has_only_the_names_it_uses(tmp_path):
    good("convert", "--thread", 6021, GOLDEN / "cpu_raw.bin", "-o", tmp_path / "x.tach")
    before, after = info(GOLDEN / "cpu_raw.bin"), info(tmp_path / "x.tach")
    assert after["frame_count"] < before["frame_count"] / 2
    assert after["string_count"] < before["string_count"] / 2


@pytest.fixture
def recording(tmp_path):
    where = tmp_path / "rec"
    where.mkdir()
    shutil.copy(GOLDEN / "cpu_raw.bin", where / "12-app.tach")
    shutil.copy(GOLDEN / "wall_zstd.bin", where / "7-other.tach")
    return where


@pytest.mark.parametrize("process,want", [("12", 467), ("app", 467), ("o*r", 2574), ("*", 3041),
                                          ("[ao]*", 3041)])
def test_filter_by_process(recording, process, want):
    assert samples("--process", process, recording) == want


def test_no_such_process(recording, tmp_path):
    for command, more in (("report", ()), ("replay", ()), ("convert", ("-o", tmp_path / "x")),
                          ("merge", ("-o", tmp_path / "x"))):
        refused(run(command, "--process", "99", recording, *more), "--process")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("option", [
    "--thread=x", "--thread=-1", "--status=", "--status=gill", "--status=gil,", "--status=!",
    "--status=gil,!gil", "--from=", "--from=x", "--from=-1", "--from=@", "--from=1e3", "--to=inf",
    "--focus=(", "--ignore=[", "--process="])
def test_filters_that_make_no_sense(option):
    refused(run("report", option, GOLDEN / "cpu_raw.bin"), option.split("=")[0], status=2)


# ---- merge ----

def test_merge_of_pieces_is_the_whole(tmp_path):
    for by in (["thread"], ["time", "--every", "0.05"]):
        for name in ("cpu_raw.bin", "wall_zstd.bin"):
            pieces, out = tmp_path / f"{by[0]}-{name}", tmp_path / "out.tach"
            good("split", GOLDEN / name, "--by", *by, "-o", pieces)
            files = sorted(pieces.glob("*.tach"))
            assert len(files) > 3
            sound(pieces)
            random.Random(1).shuffle(files)
            good("merge", *files, "-o", out)
            sound(out)
            assert stacks(good("replay", out)) == stacks(good("replay", GOLDEN / name))
            before = info(GOLDEN / name)
            after = info(out)
            assert after["start_us"] == before["start_us"]
            for old, new in zip(before["threads"], after["threads"]):
                assert old == new


def test_merge_of_overlapping_files(tmp_path):
    two = GOLDEN / "cpu_raw.bin", GOLDEN / "cpu_raw.draft1.swapped.bin"
    good("merge", *two, "-o", tmp_path / "twice.tach", "--compression", "none")
    once, twice = stacks(good("replay", two[0])), stacks(good("replay", tmp_path / "twice.tach"))
    assert twice == once + once


def test_merge_refuses_two_processes(recording, tmp_path):
    refused(run("merge", recording, "-o", tmp_path / "x.tach"), "from process 7", "from 12")
    good("merge", recording, "--process", "app", "-o", tmp_path / "x.tach")
    assert samples(tmp_path / "x.tach") == 467


# ---- split ----

def test_split_by_process(recording, tmp_path):
    shutil.copytree(recording, tmp_path / "again")
    good("split", "--by", "process", recording, tmp_path / "again", "-o", tmp_path / "out",
         "--focus", "garbage")
    assert sorted(os.listdir(tmp_path / "out")) == [
        "12-app.2.tach", "12-app.tach", "7-other.2.tach", "7-other.tach", "session.json"]
    sound(tmp_path / "out")
    report = json.loads(good("report", "--by", "process", "--json", tmp_path / "out"))
    assert {(r["pid"], r["comm"]) for r in report["rows"]} == {(12, "app"), (7, "other")}
    assert report["samples"] == 2 * samples("--focus", "garbage", recording)


def test_split_by_time(tmp_path):
    good("split", GOLDEN / "cpu_raw.bin", "--by", "time", "--every", "0.1", "-o", tmp_path / "t")
    want = collections.Counter((time - START) // 100000
                               for _, _, time, *_ in lines_of("cpu_raw.lines.txt"))
    for number, count in want.items():
        piece = info(tmp_path / "t" / f"cpu_raw.bin.part-{number + 1:04}.tach")
        assert piece["samples"] == count
        assert piece["start_us"] == START + number * 100000
        assert piece["duration_s"] <= 0.1
    assert len(list((tmp_path / "t").glob("*.tach"))) == len(want)


def test_split_into_more_pieces_than_are_written_at_a_time(tmp_path):
    good("split", GOLDEN / "wall_zstd.bin", "--by", "time", "--every", "0.002", "-o",
         tmp_path / "t")
    files = list((tmp_path / "t").glob("*.tach"))
    assert len(files) > 128
    good("merge", *files, "-o", tmp_path / "out.tach")
    assert stacks(good("replay", tmp_path / "out.tach")) == \
        stacks(good("replay", GOLDEN / "wall_zstd.bin"))


def test_split_refuses(recording, tmp_path):
    refused(run("split", recording, "-o", tmp_path / "x"), "--by", status=2)
    refused(run("split", recording, "--by", "thread", "-o", recording), "already holds a recording")
    for every in ("0", "0.0001", "x", "-1"):
        refused(run("split", "--by", "time", "--every", every, recording, "-o", tmp_path / "x"),
                "--every", status=2)
    assert not (tmp_path / "x").exists()


def test_split_tells_of_damage_once(tmp_path):
    good("convert", GOLDEN / "wall_zstd.bin", "-o", tmp_path / "bad.tach", "--compression", "none")
    whole = bytearray((tmp_path / "bad.tach").read_bytes())
    whole[9000:9010] = b"\xff" * 10
    (tmp_path / "bad.tach").write_bytes(whole)
    refused(run("split", tmp_path / "bad.tach", "--by", "time", "--every", "0.001", "-o",
                tmp_path / "t"), "bad.tach")
    assert len(list((tmp_path / "t").glob("*.tach"))) > 128


# ---- diff ----

def expected(name):
    self_count, total, n = collections.Counter(), collections.Counter(), 0
    report = json.loads(good("report", "--json", "--limit", 0, GOLDEN / name))
    for row in report["rows"]:
        key = row["function"], row["file"]
        self_count[key], total[key], n = row["self"], row["total"], report["samples"]
    return self_count, total, n


def test_diff_numbers():
    a, b = expected("cpu_raw.bin"), expected("wall_zstd.bin")
    out = json.loads(good("diff", "--force", "--json", "--limit", 0, GOLDEN / "cpu_raw.bin",
                          GOLDEN / "wall_zstd.bin"))
    assert {(r["function"], r["file"]) for r in out["rows"]} == set(a[1]) | set(b[1])
    assert out["row_count"] == len(out["rows"])
    for row in out["rows"]:
        key = row["function"], row["file"]
        for side, (self_count, total, n) in (("a", a), ("b", b)):
            assert row[side]["self"] == self_count[key] and row[side]["total"] == total[key]
            assert abs(row[side]["self_pct"] - 100 * self_count[key] / n) < 1e-9
        assert abs(row["self_delta"] - row["b"]["self_pct"] + row["a"]["self_pct"]) < 1e-9
        assert abs(row["total_delta"] - row["b"]["total_pct"] + row["a"]["total_pct"]) < 1e-9


@pytest.mark.parametrize("sort,key", [
    ("delta", lambda r: -abs(r["self_delta"])), ("total", lambda r: -abs(r["total_delta"])),
    ("a", lambda r: -r["a"]["self_pct"]), ("b", lambda r: -r["b"]["self_pct"]),
    ("name", lambda r: r["function"].encode()), ("file", lambda r: (r["file"] or "~").encode())])
def test_diff_order(sort, key):
    rows = json.loads(good("diff", "--force", "--json", "--limit", 0, "--sort", sort,
                           GOLDEN / "cpu_raw.bin", GOLDEN / "wall_zstd.bin"))["rows"]
    keys = [key(r) for r in rows]
    assert keys == sorted(keys)


def test_diff_of_itself_and_of_nothing(tmp_path):
    same = json.loads(good("diff", "--json", GOLDEN / "cpu_raw.bin", GOLDEN / "cpu_raw.bin"))
    assert all(r["self_delta"] == r["total_delta"] == 0 for r in same["rows"])
    good("convert", "--thread", 1, GOLDEN / "cpu_raw.bin", "-o", tmp_path / "empty.tach")
    done = run("diff", "--json", tmp_path / "empty.tach", GOLDEN / "cpu_raw.bin")
    assert done.returncode == 0 and "A has no samples" in done.stderr, done.stderr
    one = json.loads(done.stdout)
    assert one["a"]["samples"] == 0 and all(r["self_delta"] == r["b"]["self_pct"]
                                            for r in one["rows"])


def test_diff_table():
    lines = good("diff", "--force", GOLDEN / "cpu_raw.bin", GOLDEN / "wall_zstd.bin").splitlines()
    assert lines[0].startswith("A: ") and "467 samples" in lines[0]
    assert lines[1].startswith("B: ") and "2574 samples" in lines[1]
    assert lines[4].split()[:7] == ["49.25", "16.43", "-32.82", "49.25", "16.43", "-32.82",
                                    "garbage"]
    assert lines[-1].startswith("... ")


def test_diff_wants_two():
    refused(run("diff", GOLDEN / "cpu_raw.bin"), "two", status=2)
    refused(run("diff", *[GOLDEN / "cpu_raw.bin"] * 3), "two", status=2)


# ---- verify and recover ----

def test_verify(tmp_path):
    assert "no checksum" in good("info", "--verify", GOLDEN / "cpu_raw.bin")
    good("convert", GOLDEN / "cpu_raw.bin", "-o", tmp_path / "x.tach", "--compression", "none")
    assert "checksum right" in good("info", "--verify", tmp_path / "x.tach")
    whole = bytearray((tmp_path / "x.tach").read_bytes())
    at = whole.index(b"garbage")
    whole[at] ^= 1                                  # still a name
    (tmp_path / "x.tach").write_bytes(whole)
    done = run("info", "--verify", tmp_path / "x.tach", GOLDEN / "cpu_raw.bin")
    refused(done, "x.tach", "checksum")
    assert "cpu_raw.bin: sound" in done.stdout
    verdict = json.loads(run("info", "--verify", "--json", tmp_path / "x.tach").stdout)["files"][0]
    assert not verdict["sound"] and verdict["checksum"] == "wrong" and verdict["samples"] == 467
    whole[at] = 0xff
    (tmp_path / "x.tach").write_bytes(whole)
    refused(run("info", "--verify", tmp_path / "x.tach"), "UTF-8")


def test_recover_what_is_whole(tmp_path):
    shutil.copy(GOLDEN / "cpu_raw.bin", tmp_path / "x.tach")
    assert "nothing to recover" in good("recover", tmp_path / "x.tach")
    assert (tmp_path / "x.tach").read_bytes() == (GOLDEN / "cpu_raw.bin").read_bytes()
    assert os.listdir(tmp_path) == ["x.tach"]


def test_recover_a_file_that_was_cut(tmp_path):
    whole = (GOLDEN / "cpu_raw.bin").read_bytes()
    (tmp_path / "x.tach").write_bytes(whole[:-40])
    (tmp_path / "x.tach").chmod(0o640)
    assert "467 samples recovered" in good("recover", tmp_path / "x.tach")
    sound(tmp_path / "x.tach")
    assert stacks(good("replay", tmp_path / "x.tach")) == \
        stacks((GOLDEN / "cpu_raw.collapsed").read_text())
    assert (tmp_path / "x.tach.damaged").read_bytes() == whole[:-40]
    assert (tmp_path / "x.tach").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["x.tach", "x.tach.damaged"]
    # what was kept once is not overwritten
    (tmp_path / "x.tach").write_bytes(whole[:-50])
    refused(run("recover", tmp_path / "x.tach"), "x.tach.damaged", "-o")
    assert (tmp_path / "x.tach").read_bytes() == whole[:-50]


def test_recover_frames_that_are_lost(tmp_path):
    whole = (GOLDEN / "cpu_raw.bin").read_bytes()
    (tmp_path / "x.tach").write_bytes(whole[:-200])
    good("recover", tmp_path / "x.tach", "-o", tmp_path / "y.tach")
    sound(tmp_path / "y.tach")
    assert samples(tmp_path / "y.tach") == 467
    assert "<lost frame>" in good("replay", tmp_path / "y.tach")
    assert sorted(os.listdir(tmp_path)) == ["x.tach", "y.tach"]


def test_recover_a_directory(tmp_path):
    whole = bytearray((GOLDEN / "cpu_raw.bin").read_bytes())
    (tmp_path / "1-good.tach").write_bytes(whole)
    whole[1500:1520] = b"\xff" * 20
    (tmp_path / "2-bad.tach").write_bytes(whole)
    (tmp_path / "3-lost.tach").write_bytes(bytes(100))
    done = run("recover", tmp_path)
    refused(done, "3-lost.tach", "journal")
    assert "1-good.tach: nothing to recover" in done.stdout
    assert "2-bad.tach: " in done.stdout and "; then damaged" in done.stdout
    sound(tmp_path / "2-bad.tach")
    refused(run("recover", tmp_path, "-o", tmp_path / "x"), "directory")
    refused(run("recover", tmp_path / "1-good.tach", tmp_path / "2-bad.tach", "-o", "x"), "-o",
            status=2)


def test_recover_with_a_hostile_journal(tmp_path):
    (tmp_path / "x.tach").write_bytes(bytes(100))
    for content in (b"", b"TACHJRNL", bytes(1000), os.urandom(1000)):
        (tmp_path / ".x.tach.journal").write_bytes(content)
        refused(run("recover", tmp_path / "x.tach"), "journal")
    os.unlink(tmp_path / ".x.tach.journal")
    os.mkfifo(tmp_path / ".x.tach.journal")
    refused(run("recover", tmp_path / "x.tach"), "journal")
    assert (tmp_path / "x.tach").read_bytes() == bytes(100)
