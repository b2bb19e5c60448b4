# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tachbpf mem and the exports of memory, against books that a script keeps (make_mlyze.py)."""
import json
import os
import shutil
import sys

import pytest

import speedscope
from captures import GOLDEN, stacks
from command import good, on_terminal, refused, run
from go_pprof import go_pprof
from paths import TESTS
from pprof_decode import Pprof

sys.path.insert(0, str(TESTS / "golden"))
import make_mlyze  # noqa: E402

TRACE = TESTS / "golden" / "mlyze" / "grown.mlyze"
FOREIGN = TESTS / "golden" / "mlyze" / "random.mlyze"
SUMS = json.loads(TRACE.with_suffix(".sums.json").read_text())
KIB, MIB = 1 << 10, 1 << 20
SECONDS = 60
HELD = {"start": 8 * MIB, "leak": SECONDS * 64 * KIB, "cache": MIB, "early": 0}
TOUCHED = {"start": 8 * MIB, "leak": SECONDS * 64 * KIB, "cache": SECONDS * MIB, "early": 4 * MIB}


def mem(*argv):
    return json.loads(good("mem", "--json", "--limit", 0, *argv))


def by_function(*argv):
    return {r["function"]: r for r in mem("--by", "function", *argv)["rows"]}


def held_at(function, second):
    """What a function holds at a check. early() gives back at the check of half time."""
    return {"start": 8 * MIB if second else 0, "leak": second * 64 * KIB, "cache": MIB if second else 0,
            "early": 4 * MIB if 0 < second < SECONDS // 2 else 0}[function]


def slope(values):
    """Of the line with the least squares, per minute; one value a second."""
    times = [i / 60 for i in range(len(values))]
    mid, mean = sum(times) / len(times), sum(values) / len(values)
    return (sum((t - mid) * (v - mean) for t, v in zip(times, values)) /
            sum((t - mid) ** 2 for t in times))


# ---- types of objects ----

TYPES = TRACE.with_name("types.mlyze")


def grown_types(*argv):
    return {t["type"]: t for t in mem(*argv, TYPES)["files"][0]["types"]["growth"]}


def test_types_from_the_first_census_to_the_last():
    """The rest is no type; what is in one of the two only has the error of what the other one does not name."""
    (_, first), _, (_, last) = make_mlyze.CENSUSES
    found = grown_types()
    assert set(found) == set(last) - {""}
    for name in set(first) & set(found):
        assert (found[name]["objects"], found[name]["bytes"]) == tuple(
            after - before for after, before in zip(last[name][:2], first[name][:2])), name
        assert found[name]["bytes_error"] == last[name][3] + first[name][3]
    assert found["app.New"]["bytes"] == 7000 and found["app.New"]["bytes_error"] == 300
    assert {name for name, t in found.items() if t["grew"]} == {"bytearray", "str", "__main__.Session", "app.New"}
    times = mem(TYPES)["files"][0]["types"]
    assert (times["from"], times["to"], times["limited"]) == (1.0, 60.0, False)


def test_the_class_is_named_before_the_function():
    lines = good("mem", TYPES).splitlines()
    assert lines[1] == ("  types      __main__.Session grew by 490 objects (49.8 KiB) in 59.0 s, "
                        "and with it bytearray by 9.4 MiB")
    assert next(i for i, line in enumerate(lines) if "iterencode" in line) > 5
    assert "tachbpf heap 4243 --since 30s" in "\n".join(lines)


def test_types_in_a_range():
    """Between the last two, dict was not named in the first of them: it may have been all of the rest."""
    found = grown_types("--from", 20)
    assert found["bytearray"]["objects"] == 245
    assert found["dict"]["bytes_error"] == 90000 + 2000 and not found["dict"]["grew"]
    assert mem("--from", 40, TYPES)["files"][0]["types"] is None
    assert mem(TRACE)["files"][0]["types"] is None


# ---- rows ----

def test_held_and_touched():
    rows = by_function(TRACE)
    assert {f: r["held"] for f, r in rows.items()} == HELD
    assert {f: r["touched"] for f, r in rows.items()} == TOUCHED
    assert (rows["leak"]["file"], rows["leak"]["line"]) == ("/srv/lib.py", 10)
    assert sum(r["peak_bytes"] for r in rows.values()) == SUMS["total"]["peak_bytes"]


@pytest.mark.parametrize("first,last", [(0, 60), (10, 50), (31, 60)])
def test_growth_is_the_slope_of_what_checks_saw(first, last):
    rows = by_function(*(["--from", first] if first else []), "--to", last + 0.000001, TRACE)
    for function in HELD:
        held = [held_at(function, s) for s in range(first, last + 1)]
        want = slope(held)
        assert (function in rows) == any(held)
        if any(held):
            assert rows[function]["growth_per_minute"] == pytest.approx(want, abs=1), function


def test_a_range_has_what_grew_in_it():
    rows = by_function("--from", 10, "--to", 50, TRACE)
    assert {f: r["held"] for f, r in rows.items()} == {"leak": 40 * 64 * KIB, "cache": 0, "start": 0,
                                                       "early": -4 * MIB}
    assert rows["leak"]["touched"] == 40 * 64 * KIB and rows["start"]["touched"] == 0
    # The recording's clock is the time of day: the same range, as seconds since 1970.
    start = make_mlyze.UTC // 10**6
    assert by_function("--from", f"@{start + 10}", "--to", f"@{start + 50}", TRACE) == rows
    before = by_function("--to", 0, TRACE)
    assert not before
    after = by_function("--from", 3600, TRACE)
    assert {f: (r["held"], r["touched"]) for f, r in after.items()} == \
        {f: (0, 0) for f in HELD if HELD[f]}


@pytest.mark.parametrize("n", [3, 6, 20])
def test_leaks_grew_in_each_interval(n):
    for by in ("stack", "function", "line"):
        row, = mem("--leaks=%d" % n, "--by", by, TRACE)["rows"]
        assert row["function"] == "leak" and row["leaks"]
    assert mem(f"--leaks={n}", TRACE)["files"][0]["intervals"] == n
    assert "leak  /srv/lib.py:10" in good("mem", "--leaks", "--by", "function", TRACE)


def test_leaks_need_time():
    found = mem("--leaks", "--to", 2.5, TRACE)      # three checks
    assert not found["rows"] and found["files"][0]["intervals"] == 0
    assert "too short" in good("mem", "--leaks", "--to", 2.5, TRACE)
    refused(run("mem", "--leaks=2", TRACE), "--leaks", "3 to 1000", status=2)


@pytest.mark.parametrize("sort,key", [("held", "held"), ("touched", "touched"), ("growing", "growth_per_minute"),
                                      ("peak", "peak_bytes"), ("count", "allocations"), ("live", "held"),
                                      ("allocated", "touched")])
def test_sort(sort, key):
    for trace in (TRACE, FOREIGN):
        values = [r[key] for r in mem("--sort", sort, trace)["rows"]]
        assert values == sorted(values, reverse=True) and len(set(values)) > 1


def test_by_thread_process_and_container():
    threads = {r["thread"]: r for r in mem("--by", "thread", TRACE)["rows"]}
    assert threads[4250]["held"] == HELD["leak"] and threads[4250]["thread_name"] == "leaker-ü"
    assert threads[4242]["held"] == HELD["start"] + HELD["cache"] and threads[4242]["thread_name"] == "main"
    row, = mem("--by", "process", TRACE)["rows"]
    assert (row["pid"], row["comm"], row["container"]) == (4242, "my app", "web")
    assert row["held"] == sum(HELD.values())
    row, = mem("--by", "container", TRACE)["rows"]
    assert row["container"] == "web" and row["touched"] == sum(TOUCHED.values())
    lines = {r["line"] for r in mem("--by", "line", TRACE)["rows"]}
    assert lines == {10, 20, 30, 40}


def test_of_each_file_and_of_all(tmp_path):
    """A directory of a recording: rows of each file, and their sums."""
    shutil.copy(TRACE, tmp_path / "4242-app.mlyze")
    shutil.copy(FOREIGN, tmp_path / "77-other.mlyze")
    found = mem("--by", "process", tmp_path)
    assert {(r["pid"], r["comm"]) for r in found["rows"]} == {(4242, "my app"), (77, "other")}
    for by in ("function", "stack", "thread", "container"):
        found = mem("--by", by, tmp_path, TRACE)
        for key in ("held", "touched", "allocations", "peak_bytes"):
            assert sum(r[key] for r in found["rows"]) == sum(f[key] for f in found["files"])
            for f in found["files"]:
                assert sum(r[key] for r in f["rows"]) == f[key]
    text = good("mem", tmp_path)
    assert "4242-app.mlyze: 60.00" in text and "77-other.mlyze: " in text
    text = good("mem", "--limit", 2, TRACE, TRACE, FOREIGN, FOREIGN)
    assert text.count("grown.mlyze: ") == 2 and "random.mlyze" not in text and "files: ... and 2 more" in text
    assert by_function(TRACE, TRACE)["leak"]["held"] == 2 * HELD["leak"]


def test_the_head_says_what_the_kernel_counted():
    head = mem(TRACE)["files"][0]
    held = sum(held_at(f, SECONDS) for f in HELD)
    grown = head["resident_growth"]
    assert grown["held"] == held and grown["bytes"] == held + 100000 + 4096 and grown["unchecked"] == 8192
    assert grown["explained_pct"] == pytest.approx(100 * held / (held + 104096)) and grown["seconds"] == SECONDS
    notes = head["recorded"]
    assert (notes["mode"], notes["every_bytes"], notes["complete"], notes["exited"]) == ("sampled", 65536, True,
                                                                                        False)
    assert notes["collections_by_generation"] == [0, 0, 3, 0] and notes["uncollectable_objects"] == 9
    assert notes["lost"] == {"allocs_ring_full": 7} and notes["collecting_us"] == 4500
    assert mem(FOREIGN)["files"][0]["recorded"] is None
    text = good("mem", TRACE)
    for words in ("one touched page for each 64.0 KiB", "stacks explain +12.8 MiB, 99.2 %", "lost       7 page faults or allocations: the ring buffer was full",
                  "4242 my app, Python 3.11.2, container web", "8.0 KiB that may have been freed"):
        assert words in text


def test_a_recording_that_was_cut_says_so(tmp_path):
    bad = tmp_path / "cut.mlyze"
    bad.write_bytes(TRACE.read_bytes()[:-40])
    done = run("mem", "--by", "function", bad)
    assert done.returncode == 1 and "rule" in done.stderr and "byte " in done.stderr
    assert "recording was interrupted" in done.stdout and "leak" in done.stdout


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("by", ["stack", "function", "line", "file", "process", "thread", "container"])
def test_widths(columns, by):
    lines = on_terminal(columns, "mem", "--by", by, TRACE)
    table = lines[next(i for i, l in enumerate(lines) if "touched growth/min" in l):]
    assert len(table) > 1 and max(map(len, table)) <= columns
    assert ("count" in table[0]) == (columns == 120)


def test_hostile_marks(tmp_path):
    """What marks say is text of somebody else, and their numbers are anything."""
    functions = {0: "f"}
    mark = make_mlyze.Marks(functions)
    events = [mark(5, "recording mode=sampled every=99999999999999999999 interval_us=x"),
              mark(5, "process pid=99999999999 comm=%1B[31mred%0A python=3.x container=%ff"),
              mark(5, "process pid=12 comm=" + "x" * 3000), mark(5, "thread n=70000 tid=5 name=z"),
              mark(5, "thread n=1 tid=18446744073709551615 name=%1B]0;t%07"), (6, 0, 1, 100, 0, 1),
              mark(7, "check rss_anon=18446744073709551615 swapped=18446744073709551615 held=0 unchecked=1"),
              mark(8, "check rss_anon=0 swapped=0 held=18446744073709551615"), mark(9, "lost cause=\" cnt=3"),
              mark(9, "lost cause=" + "y" * 100 + " cnt=18446744073709551615"), mark(9, "unknown a=b"),
              mark(9, "gc generation=77 runs=18446744073709551615"), (9, 2, 1, 1)]
    metadata = json.dumps({"stack_traces": {"0": [{"file_id": 0, "line": 1, "func_id": 0}]}, "files": {"0": "f.py"},
                           "functions": {str(k): v for k, v in functions.items()}}).encode()
    path = tmp_path / "hostile.mlyze"
    path.write_bytes(make_mlyze.encode(5, events, metadata))
    for by in ("stack", "function", "process", "thread", "container"):
        assert mem("--by", by, path)["rows"][0]["held"] == 100
        text = good("mem", "--by", by, path)
        assert "\x1b" not in text and "\x07" not in text


# ---- exports ----

def test_pprof_has_four_values(tmp_path):
    out = tmp_path / "mem.pb.gz"
    good("convert", TRACE, "-o", out)
    profile = Pprof(out)
    assert profile.types == [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
                             ("inuse_space", "bytes")]
    assert profile.default_type == "inuse_space" and profile.time_ns == make_mlyze.UTC * 1000
    sums = {}
    for stack, values, labels in profile.samples:
        assert labels["pid"] == 4242 and "status" not in labels
        assert labels["thread"] == ("leaker-ü" if stack[0][0].endswith("leak") else "main")
        own = sums.setdefault(stack[0][1], [0] * 4)
        for i, v in enumerate(values):
            own[i] += v
    assert {f: s[3] for f, s in sums.items()} == HELD and {f: s[1] for f, s in sums.items()} == TOUCHED
    assert sums["leak"][0] == sums["leak"][2] == SECONDS and sums["cache"][::2] == [SECONDS, 1]
    good("convert", TRACE, "--value", "live", "-o", out)
    assert [t for t, _ in Pprof(out).types] == ["alloc_objects", "alloc_space"]


def test_go_pprof_shows_what_is_held(tmp_path):
    out = tmp_path / "mem.pb.gz"
    good("replay", TRACE, "--format", "pprof", "-o", out)
    held = go_pprof("-top", "-unit=B", out)
    assert "Type: inuse_space" in held and f"{HELD['leak']}B" in held and "early" not in held
    touched = go_pprof("-top", "-unit=B", "-sample_index=alloc_space", out)
    assert f"{TOUCHED['cache']}B" in touched and "early" in touched


def test_collapsed_csv_and_jsonl_are_of_held_bytes(tmp_path):
    folded = stacks(good("replay", TRACE))
    assert sum(folded.values()) == sum(HELD.values())
    assert sum(stacks(good("replay", "--value", "allocated", TRACE)).values()) == sum(TOUCHED.values())
    for fmt in ("csv", "jsonl", "heatmap"):
        good("replay", TRACE, "--format", fmt, "-o", tmp_path / fmt)
        assert (tmp_path / fmt).stat().st_size


@pytest.mark.parametrize("fmt,word", [("pstats", "bytes"), ("tach", "bytes")])
def test_formats_that_cannot_hold_bytes_say_so(tmp_path, fmt, word):
    refused(run("convert", TRACE, "--format", fmt, "-o", tmp_path / "x"), word)
    assert not os.listdir(tmp_path)


def test_speedscope_counts_bytes(tmp_path):
    good("convert", TRACE, "-o", tmp_path / "x.speedscope.json")
    got = speedscope.imported(speedscope.package(), tmp_path / "x.speedscope.json")
    assert {p["unit"] for p in got["profiles"]} == {"bytes"}
    assert sum(p["total"] for p in got["profiles"]) == sum(HELD.values())


def test_report_is_of_what_was_held_then():
    at_the_end = json.loads(good("report", "--json", "--limit", 0, TRACE))
    assert {r["function"]: r["self"] for r in at_the_end["rows"] if r["self"]} == \
        {f: b for f, b in HELD.items() if b}
    then = json.loads(good("report", "--json", "--limit", 0, "--to", 20.2, TRACE))
    assert {r["function"]: r["self"] for r in then["rows"] if r["self"]} == \
        {f: held_at(f, 20) for f in HELD}
    assert "leaker-ü (tid 4250)" in good("report", "--by", "thread", TRACE)


# ---- two moments ----

def test_diff_of_two_moments():
    found = json.loads(good("diff", "--json", "--limit", 0, "--from", 10, "--to", 50, TRACE))
    rows = {r["function"]: r for r in found["rows"]}
    for function in HELD:
        assert (rows[function]["a"]["self"], rows[function]["b"]["self"]) == \
            (held_at(function, 10), held_at(function, 50))
        assert rows[function]["self_more"] == held_at(function, 50) - held_at(function, 10)
    # Sorted by bytes: the change of the cache's share is none of its bytes.
    assert [r["function"] for r in found["rows"]][:2] == ["early", "leak"]
    text = good("diff", "--from", 10, "--to", 50, TRACE)
    assert "at 10.000 s" in text and "at 50.000 s" in text and "2.5 MiB" in text
    to_the_end = json.loads(good("diff", "--json", "--from", 10, TRACE))
    assert {r["function"]: r["b"]["self"] for r in to_the_end["rows"] if r["function"] in HELD} == HELD


def test_diff_of_two_files(tmp_path):
    shutil.copy(TRACE, tmp_path / "b.mlyze")
    found = json.loads(good("diff", "--json", TRACE, tmp_path / "b.mlyze"))
    assert all(r["self_more"] == 0 for r in found["rows"])
    refused(run("diff", TRACE), "--from", status=2)
    refused(run("diff", "--from", 1, GOLDEN / "cpu_raw.bin"), "samples", "two files")


# ---- the page ----

SELF = """Object.fromEntries(report.graph.tableRows().map(r =>
    [report.graph.model.str(report.graph.tree.labelFunc[r.label]), r.selfA]).filter(r => r[1]))"""


def test_page_switches_between_held_and_touched(browser, tmp_path):
    good("mem", "--html", tmp_path / "mem.html", TRACE)
    page = browser.open(tmp_path / "mem.html")
    assert page.run(SELF) == {f: b for f, b in HELD.items() if b}
    page.click("#touched")
    assert page.run(SELF) == TOUCHED
    assert page.run("document.getElementById('touched').getAttribute('aria-pressed')") == "true"
    assert "MiB" in page.run("document.body.innerText")
    page.click("#held")
    assert page.run(SELF) == {f: b for f, b in HELD.items() if b}
    page.settle()
    assert not page.faults


def test_page_of_two_moments_counts_bytes(browser, tmp_path):
    good("diff", "--from", 10, "--to", 50, TRACE, "--format", "flamegraph", "-o", tmp_path / "diff.html")
    page = browser.open(tmp_path / "diff.html")
    assert page.run("[report.graph.view.a[0], report.graph.view.b[0]]") == \
        [sum(held_at(f, s) for f in HELD) for s in (10, 50)]
    assert page.run("document.getElementById('scale').value") == "counts"
    assert page.run("document.getElementById('held-controls').hidden")
    page.settle()
    assert not page.faults


def test_page_of_samples_has_no_switch(show):
    page = show(GOLDEN / "cpu_raw.bin")
    assert page.run("document.getElementById('held-controls').hidden")


def test_page_has_no_table():
    refused(run("mem", "--html", "x.html", "--json", TRACE), "--json", status=2)
    refused(run("mem", "--html", "x.html", "--leaks", TRACE), "--leaks", status=2)
