# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every format through the commands; files of real producers; what mem says against a script's sums."""
import collections
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from captures import stacks
from command import good, refused, run
from html_reports import is_detail, self_of
from paths import TESTS, binary
from processes import TIMEOUT

ALL = TESTS / "golden"
FILES = sorted(p for f, s in (("collapsed", "folded"), ("speedscope", "json"), ("gperftools", "prof"),
                              ("mlyze", "mlyze"))
               for p in (ALL / f).glob(f"*.{s}") if not p.name.endswith(".sums.json"))
TRACES = sorted((ALL / "mlyze").glob("*.mlyze"))
PROFILER = next((Path(d) / "libprofiler.so.0" for d in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib",
                                                        "/usr/lib/aarch64-linux-gnu")
                 if (Path(d) / "libprofiler.so.0").exists()), None)


def answers(path):
    """The profiles that expect.py wrote beside a golden file: (unit, pid, comm), events."""
    found = []
    name = path.with_suffix(".live.txt" if path.suffix == ".mlyze" else ".txt")
    for line in name.read_text("utf-8").split("\n")[:-1]:
        row = json.loads(line)
        if row[0] == "profile":
            found.append((tuple(row[1:]), []))
        else:
            found[-1][1].append(row)
    return found


def ids(paths):
    return [f"{p.parent.name}/{p.name}" for p in paths]


@pytest.mark.parametrize("path", FILES, ids=ids(FILES))
def test_info(path):
    shown = json.loads(good("info", "--json", path))["files"]
    want = answers(path)
    assert len(shown) == len(want)
    for got, ((unit, pid, comm), events) in zip(shown, want):
        assert got["format"] == path.parent.name
        assert (got["unit"], got["pid"] or 0, got["comm"]) == (unit, pid, comm)
        assert got["total"] == sum(e[2] for e in events)
        threads = collections.Counter()
        for thread, _, weight, _ in events:
            threads[thread] += weight
        assert {t["thread"]: t["total"] for t in got["threads"]} == threads
        assert got["size_bytes"] == path.stat().st_size
    text = good("info", path)
    assert "\x1b" not in text and path.name in text and path.parent.name in text


def key_of(frame):
    return frame[1], None if frame[0] == "~" else frame[0]


@pytest.mark.parametrize("path", FILES, ids=ids(FILES))
def test_report(path):
    want = answers(path)
    done = run("report", "--json", "--limit", 0, path)
    if len({unit for (unit, *_), _ in want}) > 1:
        assert done.returncode == 0 and "also counts bytes, which are not in this report" in done.stderr
        want = [w for w in want if w[0][0] == want[0][0][0]]
    else:
        assert done.returncode == 0 and not done.stderr
    self_count, total = collections.Counter(), collections.Counter()
    for _, events in want:
        for _, _, weight, frames in events:
            if not frames:
                continue
            own = self_of(frames[::-1])
            self_count[key_of(own)] += weight
            total.update({key_of(f): weight for f in frames if f == own or not is_detail(f)})
    report = json.loads(done.stdout)
    assert report["unit"] == want[0][0][0]
    assert report["samples"] == sum(e[2] for _, events in want for e in events)
    assert {(r["function"], r["file"]): (r["self"], r["total"]) for r in report["rows"]} == \
        {key: (self_count[key], total[key]) for key in total}


@pytest.mark.parametrize("path", FILES, ids=ids(FILES))
def test_replay(path):
    want = collections.Counter()
    profiles = answers(path)
    for (_, pid, comm), events in profiles:
        head = f"process:{pid}{' ' + comm if comm else ''};" if len(profiles) > 1 else ""
        for thread, _, weight, frames in events:
            names = [f[1] if f[0] == "~" and f[2] < 0 else
                     f"{f[0].rpartition('/')[2]}:{f[1]}:{max(f[2], 0)}" for f in frames[::-1]]
            names = ["".join(c if c.isprintable() and c != ";" else {";": ":"}.get(c, f"\\x{ord(c):02x}")
                             for c in n) for n in names]
            if names:
                want[head + f"tid:{thread};" + ";".join(names)] += weight
    got = collections.Counter()
    for line in good("replay", path).splitlines():
        stack, _, count = line.rpartition(" ")
        got[stack] += int(count)
    assert got == want


@pytest.mark.parametrize("command", ["info", "report", "replay"])
def test_input_format_overrides(command):
    path = ALL / "speedscope" / "none.json"
    assert good(command, "--input-format", "speedscope", path) == good(command, path)
    refused(run(command, "--input-format", "mlyze", path), "none.json", "byte 0", "MTRC")
    refused(run(command, "--input-format", "nothing", path), "--input-format help", status=2)


def test_formats_are_listed():
    listed = {line.split()[0] for line in good("info", "--input-format", "help").splitlines()}
    assert listed == {"tach", "collapsed", "speedscope", "gperftools", "mlyze", "pprof", "otlp"}


@pytest.mark.parametrize("value", ["live", "allocated", "peak"])
@pytest.mark.parametrize("trace", TRACES, ids=ids(TRACES))
def test_value(trace, value):
    rows = [json.loads(line) for line in trace.with_suffix(f".{value}.txt").read_text("utf-8").splitlines()]
    report = json.loads(good("report", "--json", "--value", value, trace))
    assert report["unit"] == "bytes"
    assert report["samples"] == sum(r[2] for r in rows[1:])


def test_time_as_samples():
    """Weights of 3, 2.25 and 0.4 s, in intervals of their mean."""
    path = ALL / "speedscope" / "seconds.json"
    assert sum(stacks(good("replay", "--value", "samples", path)).values()) == 3
    assert json.loads(good("report", "--json", "--value", "samples", path))["unit"] == "samples"


# ---- mem ----

SUMS = [("allocations", "count"), ("allocated_bytes", "allocated"), ("live_bytes", "live"), ("peak_bytes", "peak")]


@pytest.mark.parametrize("trace", TRACES, ids=ids(TRACES))
def test_mem(trace):
    want = json.loads(trace.with_suffix(".sums.json").read_text())
    got = json.loads(good("mem", "--json", "--limit", 0, "--by", "stack", trace))["files"][0]
    assert got["valid"] is True
    assert {key: got[key] for key in want["total"]} == want["total"]
    for row in got["rows"]:
        of = want["stacks"][str(row["stack_id"])]
        for key, short in SUMS[1:]:
            assert row[key] == of.get(short, 0), (row["stack_id"], key)
    assert {str(r["stack_id"]) for r in got["rows"]} == set(want["stacks"])
    for by in ("file", "function"):
        rows = json.loads(good("mem", "--json", "--limit", 0, "--by", by, trace))["files"][0]["rows"]
        for key, _ in SUMS:
            assert sum(r[key] for r in rows) == got[key]
    for key, short in SUMS:
        rows = json.loads(good("mem", "--json", "--sort", short, trace))["files"][0]["rows"]
        assert [r[key] for r in rows] == sorted((r[key] for r in rows), reverse=True)


def test_mem_text():
    text = good("mem", ALL / "mlyze" / "basic.mlyze", ALL / "mlyze" / "extremes.mlyze")
    assert "225 bytes in 5 allocations" in text and "process_data  /other.py:123" in text
    assert "1 free of a block that was allocated before" in text and "\x00" not in text
    assert good("mem", "--validate", ALL / "mlyze" / "basic.mlyze").endswith("basic.mlyze: valid\n")


def test_info_shows_markers_and_collections():
    shown = json.loads(good("info", "--json", ALL / "mlyze" / "basic.mlyze"))["files"][0]
    assert shown["marker_events"] == [{"time_us": 1005, "name": "mark <me>"}]
    assert shown["collection_events"] == [{"time_us": 1020, "objects": 12, "bytes": 3456}]
    assert shown["valid"] == "yes"


@pytest.mark.parametrize("change,rule,word", [
    (lambda b: b"X" + b[1:], 1, "magic"),
    (lambda b: b[:4] + b"\2" + b[5:], 2, "version"),
    (lambda b: b[:256] + b"[" + b[257:], 3, "metadata"),
    (lambda b: b.replace(b'"func_id": 1', b'"func_id": 9'), 4, "reference"),
    (lambda b: b + b"\x09\0", 5, "event type"),
    (lambda b: b + b"\3" + b"\xff" * 10 + b"\0", 6, "varint"),
    (lambda b: b[:-1], 7, "file size"),
])
def test_each_rule_has_its_error(tmp_path, change, rule, word):
    bad = tmp_path / "bad.mlyze"
    bad.write_bytes(change((ALL / "mlyze" / "basic.mlyze").read_bytes()))
    refused(run("mem", "--validate", bad), "bad.mlyze", f"rule {rule} ({word})", "byte ")
    got = json.loads(run("mem", "--validate", "--json", bad).stdout)["files"][0]
    assert (got["valid"], got["rule"], got["rule_name"]) == (False, rule, word)
    refused(run("report", "--input-format", "mlyze", bad), "bad.mlyze", word, "byte ")


def test_what_came_before_damage_counts(tmp_path):
    bad = tmp_path / "bad.mlyze"
    bad.write_bytes((ALL / "mlyze" / "basic.mlyze").read_bytes() + b"\x09")
    done = run("replay", "--value", "allocated", bad)
    refused(done, "event type")
    # 225 but for 5 bytes whose stack is empty: no line can say so.
    assert sum(stacks(done.stdout).values()) == 220


@pytest.mark.parametrize("command", ["info", "report", "replay"])
def test_hostile_speedscope(tmp_path, command):
    """Nesting, numbers and sizes that hurt parsers: one line, soon, with an offset."""
    for text in ("{" + '"a":{' * 100000, '{"profiles":[' * 1000, '{"a":' + "9" * 100000 + "e", '{"a":"' + "x" * 10**6,
                 '{"profiles":[{"type":"sampled","unit":"none","samples":[[4294967296]],"weights":[1]}]}'):
        (tmp_path / "bad.json").write_text(text)
        refused(run(command, tmp_path / "bad.json"), "byte ")


# ---- real producers ----

BUSY_C = """
#include <time.h>
__attribute__((noinline)) double inner(int n) { volatile double s = 0; for (int i = 0; i < n; i++) s += i; return s; }
__attribute__((noinline)) double outer(int n) { volatile double s = 0; for (int i = 0; i < 50; i++) s += inner(n); return s; }
int main(void) { clock_t end = clock() + CLOCKS_PER_SEC / 2; double s = 0; while (clock() < end) s += outer(9999); return s < 0; }
"""


@pytest.fixture(scope="module")
def libprofiler_profile(tmp_path_factory):
    if not PROFILER or not shutil.which("cc"):
        pytest.skip("libprofiler (Debian: libgoogle-perftools4) or a C compiler is not installed")
    where = tmp_path_factory.mktemp("gperftools")
    (where / "busy.c").write_text(BUSY_C)
    subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-rdynamic", "-o", where / "busy",
                    where / "busy.c"], check=True)
    subprocess.run([where / "busy"], check=True, stderr=subprocess.DEVNULL,
                   env={**os.environ, "LD_PRELOAD": str(PROFILER), "CPUPROFILE": str(where / "prof")})
    return where


def test_libprofiler(libprofiler_profile):
    shown = json.loads(good("info", "--json", libprofiler_profile / "prof"))["files"][0]
    assert (shown["format"], shown["version"], shown["word_bytes"]) == ("gperftools", 0, 8)
    assert shown["interval_us"] == 10000 and shown["mapping_count"] > 5
    assert shown["total"] > 0       # how many is libprofiler's affair
    report = json.loads(good("report", "--json", libprofiler_profile / "prof"))
    busy = sum(r["self"] for r in report["rows"] if r["function"].startswith("busy+0x"))
    assert busy >= 0.8 * report["samples"]


def test_google_pprof_raw(libprofiler_profile):
    if not shutil.which("google-pprof"):
        pytest.skip("google-pprof (Debian: google-perftools) is not installed")
    raw = subprocess.run(["google-pprof", "--raw", libprofiler_profile / "busy", libprofiler_profile / "prof"],
                         capture_output=True, check=True).stdout
    (libprofiler_profile / "raw").write_bytes(raw)
    report = json.loads(good("report", "--json", libprofiler_profile / "raw"))
    assert report["samples"] == json.loads(good("report", "--json", libprofiler_profile / "prof"))["samples"]
    inner = sum(r["self"] for r in report["rows"] if r["function"].startswith("inner"))
    assert inner >= 0.8 * report["samples"]


def test_py_spy(tmp_path):
    spy = shutil.which("py-spy")
    if not spy:
        pytest.skip("py-spy (PyPI) is not installed")
    program = ("import threading, time\ndef spin():\n  end = time.time() + 1.5\n  while time.time() < end: sum(range(999))\n"
               "t = threading.Thread(target=spin)\nt.start()\nspin()\nt.join()")
    out = tmp_path / "spy.json"
    done = subprocess.run([spy, "record", "-f", "speedscope", "-d", "1", "-r", "100", "-o", out, "--",
                           sys.executable, "-c", program],
                          capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode:
        pytest.skip(f"py-spy may not trace here: {done.stderr.strip().splitlines()[-1]}")
    shown = json.loads(good("info", "--json", out))["files"][0]
    theirs = json.loads(out.read_text("utf-8"))
    assert shown["total"] == round(sum(sum(p["weights"]) for p in theirs["profiles"]) * 1e9)
    assert {t["name"] for t in shown["thread_names"]} == {p["name"] for p in theirs["profiles"]}
    assert all(str(t["thread"]) in t["name"] or f"{t['thread']:X}" in t["name"] for t in shown["thread_names"])
    report = json.loads(good("report", "--json", out))
    assert report["rows"][0]["function"] == "spin"


# ---- our own, back again ----

def test_tach_to_collapsed_and_back(tmp_path):
    for capture in sorted((ALL / "tach").glob("*.bin")):
        first = good("replay", capture)
        (tmp_path / "x.folded").write_text(first)
        again = good("replay", tmp_path / "x.folded")
        merged = collections.Counter()
        for line in first.splitlines():
            stack, _, count = line.rpartition(" ")
            merged[stack] += int(count)
        assert stacks(again) == merged


def test_large_speedscope_stays_small(tmp_path):
    """30 MB of samples need no memory of their own."""
    rnd = random.Random(3)
    frames = [{"name": f"f{i}"} for i in range(1000)]
    with open(tmp_path / "big.json", "w", encoding="ascii") as out:
        out.write(json.dumps({"shared": {"frames": frames}})[:-1] +
                  ',"profiles":[{"type":"sampled","name":"t","unit":"none","samples":[')
        out.write(",".join(str([rnd.randrange(1000) for _ in range(20)]) for _ in range(300000)))
        out.write('],"weights":[' + ",".join(["1"] * 300000) + "]}]}")
    done = subprocess.run(["/usr/bin/env", "python3", "-c",
                           "import resource,subprocess,sys;p=subprocess.run(sys.argv[1:],capture_output=True);"
                           "print(p.returncode,resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
                           binary(), "info", tmp_path / "big.json"], capture_output=True, text=True, check=True)
    status, kilobytes = map(int, done.stdout.split())
    size = (tmp_path / "big.json").stat().st_size
    assert status == 0 and size > 25e6
    # The mapping itself counts as resident while it is read.
    assert kilobytes * 1024 < size + 16e6
