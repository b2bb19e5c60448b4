# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every export, read by the programs it is for, against CPython's answers for its own captures.

The captures' collapsed stacks, JSONL and cpu_raw's samples one by one are in
tests/golden/tach; what else CPython says it says here (fixture oracle).
"""
import collections
import csv
import functools
import json
import marshal
import os
import pstats
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import speedscope as real_speedscope
from captures import (GOLDEN, RELEASE, call_statistics, drop, drop_line, said, samples_of,
                      status_text, word)
from command import good, on_full_disk, refused, run
from paths import binary
from processes import TIMEOUT

BINARIES = ("pprof", "gperftools", "gperftools-perl", "pstats")
INTERVAL_US = 2000                      # cpu_raw's, native_opcodes' and wall_zstd's


# ---- options ----

def test_the_list_of_formats():
    listed = [line.split()[0] for line in good("convert", "--format", "help").splitlines()]
    assert listed == ["tach", "collapsed", "speedscope", "gecko", "perfetto", "chrome", "pprof", "gperftools",
                      "gperftools-perl", "gperftools-native", "pstats", "jsonl", "csv", "parquet", "columns", "flamegraph",
                      "heatmap", "svg"]


def test_parquet_without_pyarrow(tmp_path):
    """A Python that sees no packages, and none at all: one line, and no file. tests/warehouse has the others."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n')
    python.chmod(0o755)
    for named, words in ((python, "pip install pyarrow"), (tmp_path / "none", "cannot be run")):
        env = {**os.environ, "TACHBPF_PYTHON": str(named)}
        refused(run("convert", GOLDEN / "cpu_raw.bin", "-o", tmp_path / "x.parquet", env=env), words, str(named))
    assert list(tmp_path.iterdir()) == [python]


@pytest.mark.parametrize("fmt, option", [
    ("jsonl", "--lines"), ("gecko", "--no-lines"), ("pstats", "--by=thread"),
    ("jsonl", "--by=process"), ("gperftools-native", "--lines")])
def test_options_that_a_format_cannot_do(fmt, option):
    done = run("replay", GOLDEN / "cpu_raw.bin", "--format", fmt, option)
    refused(done, option.split("=")[0], fmt, status=2)


def test_group_is_process_or_thread():
    refused(run("replay", GOLDEN / "cpu_raw.bin", "--by", "cgroup"), "--by", "process, thread or container",
            status=2)


@pytest.mark.parametrize("fmt", BINARIES)
def test_binary_formats_are_kept_off_terminals(fmt):
    master, slave = os.openpty()
    try:
        done = subprocess.run([binary(), "replay", GOLDEN / "cpu_raw.bin", "--format", fmt],
                              stdout=slave, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
    finally:
        os.close(master)
        os.close(slave)
    refused(done, fmt, "-o FILE")


# ---- collapsed ----

@pytest.mark.parametrize("name", RELEASE)
def test_collapsed_without_lines_and_threads(name):
    want = drop(said(name), lambda tid, words: ";".join(map(drop_line, words)))
    assert stacks_sum(good("replay", GOLDEN / name, "--no-lines", "--by", "process")) == want


def stacks_sum(text):
    out = collections.Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        out[stack] += int(count)
    return out


# ---- CSV ----

def rows_of(path):
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    assert rows and list(rows[0]) == ["process", "comm", "container", "thread", "status", "unit",
                                      "weight", "stack"]
    return rows


@pytest.mark.parametrize("name", RELEASE)
def test_csv_is_collapsed_with_more_columns(export, name):
    got = collections.Counter()
    for row in rows_of(export(name, "csv")):
        assert row["unit"] == "samples"
        if row["stack"]:
            got[int(row["thread"]), tuple(row["stack"].split(";"))] += int(row["weight"])
    assert got == said(name)


def test_csv_has_every_sample_by_status(export):
    want = collections.Counter()
    for tid, _, status, frames in samples_of("cpu_raw.lines.txt"):
        want[tid, status_text(status), ";".join(word(*f) for f in reversed(frames))] += 1
    got = {(int(r["thread"]), r["status"], r["stack"]): int(r["weight"])
           for r in rows_of(export("cpu_raw.bin", "csv"))}
    assert got == want


# ---- JSONL ----

def records(path):
    out = [json.loads(line) for line in Path(path).read_text().splitlines()]
    assert len({r["run_id"] for r in out}) == 1
    for r in out:
        assert re.fullmatch("[0-9a-f]{32}", r.pop("run_id"))
    return out


@pytest.mark.parametrize("name", RELEASE)
def test_jsonl_is_cpythons(export, name):
    assert records(export(name, "jsonl")) == records(GOLDEN / name.replace(".bin", ".jsonl"))


# ---- pstats ----

def test_pstats_adds_up(export):
    stats = pstats.Stats(str(export("cpu_raw.bin", "pstats")))
    interval = INTERVAL_US / 1e6
    want = call_statistics()
    assert set(stats.stats) == set(want)
    for key, (cc, nc, tt, ct, callers) in stats.stats.items():
        own, cumulative, edges = want[key]
        assert (cc, nc) == (own, cumulative)
        assert tt == pytest.approx(own * interval) and ct == pytest.approx(nc * interval)
        assert {c: v[0] for c, v in callers.items()} == edges
        for c_nc, c_cc, c_tt, c_ct in callers.values():
            assert c_cc <= c_nc and c_ct <= ct + 1e-9 and c_tt == pytest.approx(c_cc * interval)
        # Whatever is innermost was called by someone.
        assert cc == sum(v[1] for v in callers.values())
    for method in ("print_stats", "print_callers", "print_callees"):
        stats.stream = open(os.devnull, "w")
        getattr(stats.sort_stats("tottime"), method)()


@pytest.mark.parametrize("name", RELEASE)
def test_pstats_has_cpythons_numbers(export, oracle, out, name):
    shutil.copy(GOLDEN / name, out)
    theirs = marshal.loads(oracle.replay("pstats", out / name).read_bytes())
    ours = marshal.loads(export(name, "pstats").read_bytes())
    assert theirs.pop(("__sampled__",)) is True and set(ours) == set(theirs)
    for key, (cc, nc, tt, ct, callers) in theirs.items():
        assert ours[key][:2] == (cc, nc), key
        assert {caller: pair[0] for caller, pair in ours[key][4].items()} == callers, key
        assert ours[key][2:4] == (pytest.approx(tt), pytest.approx(ct)), key


def test_pstats_is_read_by_cpython_315(export, oracle, out):
    path = shutil.copy(export("cpu_raw.bin", "pstats"), out)
    text = oracle.run("-c", "import pstats,sys; pstats.Stats(sys.argv[1]).print_callers()", path)
    assert "mix.py:23(garbage)" in text


@pytest.mark.parametrize("name", RELEASE)
def test_pstats_without_lines(export, name):
    got = marshal.loads(export(name, "pstats", "--no-lines").read_bytes())
    want = collections.Counter()
    for (_, words), count in said(name).items():
        want[drop_line(words[-1])] += count
    own = collections.Counter()
    for (file, line, func), (cc, *_) in got.items():
        own[drop_line(word(file, func, line))] += cc
    assert +own == want


# ---- Firefox Profiler ----

def thread_samples(profile, thread):
    """[(time, stack)], a stack as everything that the tables say of its frames."""
    strings = profile["shared"]["stringArray"]
    nodes, frames, funcs = thread["stackTable"], thread["frameTable"], thread["funcTable"]
    resources = thread["resourceTable"]

    def frame(i):
        f = frames["func"][i]
        file = funcs["fileName"][f]
        return (strings[funcs["name"][f]], funcs["isJS"][f], funcs["relevantForJS"][f],
                None if file is None else strings[file], funcs["lineNumber"][f],
                strings[resources["name"][funcs["resource"][f]]], frames["line"][i],
                frames["column"][i], frames["category"][i], frames["address"][i])

    def stack(i):
        out = []
        while i is not None:
            out.append((frame(nodes["frame"][i]), nodes["category"][i]))
            i = nodes["prefix"][i]
        return tuple(out)

    for table in (nodes, frames, funcs, resources, thread["samples"], thread["markers"]):
        for key, column in table.items():
            assert not isinstance(column, list) or len(column) == table["length"], key
    assert thread["samples"]["weight"] is None
    return [(round(t, 3), stack(s))
            for s, t in zip(thread["samples"]["stack"], thread["samples"]["time"])]


def thread_markers(profile, thread):
    strings = profile["shared"]["stringArray"]
    m = thread["markers"]
    out = []
    for i in range(m["length"]):
        start, end = m["startTime"][i], m["endTime"][i]
        assert m["data"][i].pop("duration") == pytest.approx(end - start, abs=1e-6)
        out.append((strings[m["name"][i]], round(start, 3), round(end, 3), m["phase"][i],
                    m["category"][i], m["data"][i]))
    return out


@pytest.mark.parametrize("name", RELEASE)
def test_gecko_is_cpythons(export, oracle, out, name):
    shutil.copy(GOLDEN / name, out)
    theirs = json.loads(oracle.replay("gecko", out / name).read_text())
    ours = json.loads(export(name, "gecko").read_text())
    assert set(ours) == set(theirs) and set(ours["meta"]) == set(theirs["meta"])
    for key in ("categories", "version", "preprocessedProfileVersion", "markerSchema", "product",
                "processType", "stackwalk", "symbolicated", "extensions", "abi", "oscpu"):
        assert ours["meta"][key] == theirs["meta"][key], key
    threads = {t["tid"]: t for t in theirs["threads"]}
    assert [t["tid"] for t in ours["threads"]] == [t["tid"] for t in theirs["threads"]]
    last = max(t for thread in ours["threads"] for t in thread["markers"]["endTime"])
    for thread in ours["threads"]:
        other = threads[thread["tid"]]
        assert set(thread) == set(other)
        for key in ("name", "isMainThread", "processType", "processName", "registerTime"):
            assert thread[key] == other[key]
        for key in ("samples", "stackTable", "frameTable", "funcTable", "resourceTable", "markers"):
            assert set(thread[key]) == set(other[key]), key
        assert thread_samples(ours, thread) == thread_samples(theirs, other)
        check_markers(thread_markers(ours, thread), thread_markers(theirs, other), last)


def check_markers(ours, theirs, last):
    """Those that were open at the end, ends: ours with the last sample of all, theirs with the
    last in the file. These come in any order; all others in the same."""
    assert len(ours) == len(theirs) and ours
    open_ours = [m for m in ours if m[2] == last]
    assert [m for m in ours if m[2] != last] == theirs[:len(ours) - len(open_ours)]
    rest = theirs[len(ours) - len(open_ours):]
    assert sorted((m[0], m[1]) for m in open_ours) == sorted((m[0], m[1]) for m in rest)


# ---- speedscope ----

@pytest.fixture(scope="session")
def speedscope():
    """What speedscope's own importer makes of a file."""
    return functools.partial(real_speedscope.imported, real_speedscope.package())


def expected_weights(running_only):
    """{tid: {(func, file, line) root first: µs}} of cpu_raw, by the rule of format-speedscope.md."""
    info = json.loads((GOLDEN / "cpu_raw.info.json").read_text())
    threads = collections.defaultdict(list)
    for tid, time, _, frames in samples_of("cpu_raw.lines.txt"):
        threads[tid].append((time, tuple((f[1], f[0], f[2]) for f in reversed(frames))))
    out = {}
    for tid, samples in threads.items():
        samples.sort(key=lambda s: s[0])
        weights = collections.Counter({(): samples[0][0] - info["start_time_us"]})
        for (time, stack), (after, _) in zip(samples, samples[1:]):
            gap = after - time
            if running_only and gap > 1.5 * INTERVAL_US:
                weights[()] += gap - INTERVAL_US
                gap = INTERVAL_US
            weights[stack] += gap
        weights[samples[-1][1]] += INTERVAL_US
        out[tid] = weights
    return out


def test_speedscope_has_the_time_of_every_stack(export, speedscope):
    group = speedscope(export("cpu_raw.bin", "speedscope", "--lines"))
    want = expected_weights(running_only=True)
    assert {p["name"] for p in group["profiles"]} == {f"thread {tid}" for tid in want}
    for profile in group["profiles"]:
        weights = want[int(profile["name"].split()[1])]
        assert profile["unit"] == "microseconds"
        assert profile["total"] == sum(weights.values())
        stacks_want, self_want = collections.Counter(), collections.Counter()
        for stack, weight in weights.items():
            if stack:
                stacks_want[";".join(f[0] for f in stack)] += weight
                func, file, line = stack[-1]
                self_want[func, None if file == "~" else file, line or None] += weight
        got = {k: v for k, v in profile["stacks"].items() if v}
        assert got == +stacks_want
        assert {tuple(json.loads(k)): v[0] for k, v in profile["frames"].items() if v[0]} \
            == +self_want


def test_speedscope_by_default_has_functions(export):
    frames = json.loads(export("cpu_raw.bin", "speedscope").read_text())["shared"]["frames"]
    names = [(f["name"], f.get("file")) for f in frames]
    assert len(names) == len(set(names))
    lines = collections.defaultdict(set)
    for _, _, _, stack in samples_of("cpu_raw.lines.txt"):
        for file, func, line in stack:
            lines[func, None if file == "~" else file].add(line)
    assert {(f["name"], f.get("file")): f.get("line", 0) for f in frames} \
        == {k: min(v) for k, v in lines.items()}


@pytest.mark.parametrize("name", RELEASE)
def test_speedscope_takes_every_capture(export, speedscope, name):
    for options in ((), ("--by", "process"), ("--lines",)):
        path = export(name, "speedscope", *options)
        profile = json.loads(path.read_text())
        for p in profile["profiles"]:
            assert len(p["samples"]) == len(p["weights"]) and min(p["weights"]) > 0
            assert p["endValue"] == sum(p["weights"]) and p["startValue"] == 0
            assert all(0 <= i < len(profile["shared"]["frames"]) for s in p["samples"] for i in s)
        group = speedscope(path)
        threads = 1 if options[:1] == ("--by",) else len({tid for tid, _ in said(name)})
        assert len(group["profiles"]) >= threads


# ---- several processes, and what session.json knows ----

def test_csv_and_collapsed_of_a_recording(two_processes, tmp_path):
    out = tmp_path / "x.csv"
    good("replay", two_processes, "--format", "csv", "-o", out)
    rows = rows_of(out)
    assert {(r["process"], r["comm"]) for r in rows} == {("12", "first"), ("34", "sec:ond")}
    text = good("replay", two_processes, "--by", "process")
    assert {line.partition(";")[0] for line in text.splitlines()} \
        == {"process:12 first", "process:34 sec:ond"}
    assert "tid:" not in text


def test_jsonl_of_a_recording_is_a_stream_for_each(two_processes):
    streams = collections.defaultdict(list)
    for line in good("replay", two_processes, "--format", "jsonl").splitlines():
        record = json.loads(line)
        streams[record["run_id"]].append(record)
    assert [s[0]["pid"] for s in streams.values()] == [12, 34]
    for stream, name in zip(streams.values(), ("cpu_raw", "native_opcodes")):
        assert stream[-1]["type"] == "end"
        assert stream[-1]["samples_total"] == sum(said(name).values())


def test_speedscope_of_a_recording(two_processes, tmp_path, speedscope):
    out = tmp_path / "x.json"
    good("replay", two_processes, "--format", "speedscope", "-o", out)
    known = json.loads(out.read_text())["tachbpf"]["processes"]
    assert [(p["pid"], p["comm"]) for p in known] == [(12, "first"), (34, "sec;ond")]
    assert known[0]["lost"] == 7 and known[0]["platform"] == "Linux 6.1.0-x"
    assert known[0]["python_version"].startswith("3.15.")
    names = {p["name"].partition(" thread")[0] for p in speedscope(out)["profiles"]}
    assert names == {"process 12 first", "process 34 sec;ond"}


def test_gecko_of_a_recording_groups_by_pid(two_processes):
    profile = json.loads(good("replay", two_processes, "--format", "gecko"))
    assert {(t["pid"], t["processName"]) for t in profile["threads"]} \
        == {("12", "12 first"), ("34", "34 sec;ond")}
    assert min(t["samples"]["time"][0] for t in profile["threads"] if t["samples"]["time"]) == 0


def test_pstats_of_a_recording_is_their_sum(two_processes, tmp_path):
    out = tmp_path / "x.pstats"
    good("replay", two_processes, "--format", "pstats", "-o", out)
    samples = sum(cc for cc, *_ in marshal.loads(out.read_bytes()).values())
    assert samples == sum(said("cpu_raw").values()) + sum(said("native_opcodes").values())


# ---- full disks ----

@pytest.mark.parametrize("fmt", BINARIES + ("speedscope", "gecko", "jsonl", "csv"))
def test_a_full_disk_is_said(fmt):
    refused(on_full_disk("replay", GOLDEN / "cpu_raw.bin", "--format", fmt), "No space left")


# ---- who may read them ----

def test_every_export_is_as_private_as_a_recording(tmp_path):
    formats = [line.split()[0] for line in good("replay", "--format", "help").splitlines()]
    made = {f"x.{name}" for name in formats if not run("replay", GOLDEN / "cpu_raw.bin", "--format",
                                                        name, "-o", tmp_path / f"x.{name}").returncode}
    assert made >= {"x.tach", "x.collapsed", "x.pprof", "x.jsonl", "x.speedscope", "x.flamegraph", "x.svg"}
    run("diff", GOLDEN / "cpu_raw.bin", GOLDEN / "cpu_raw.bin", "--format", "flamegraph", "-o",
        tmp_path / "diff.html")
    written = {p.name: oct(p.stat().st_mode & 0o777) for p in tmp_path.iterdir()}
    assert set(written) == made | {"diff.html"}
    assert set(written.values()) == {"0o600"}, written


def test_what_the_shell_opens_keeps_its_mode(tmp_path):
    with open(tmp_path / "x.txt", "w") as out:
        os.fchmod(out.fileno(), 0o644)
        subprocess.run([binary(), "replay", GOLDEN / "cpu_raw.bin", "--format", "collapsed"],
                       stdout=out, check=True, timeout=TIMEOUT)
    assert (tmp_path / "x.txt").stat().st_mode & 0o777 == 0o644
