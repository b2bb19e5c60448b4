# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tachbpf gil on files that were made up, whose waits and holders can be counted by hand."""
import json

import pytest

from captures import GOLDEN
from command import good, on_terminal, refused, run
from make_tach import ASLEEP, HOLDS, WAITS, Writer

MAIN, HOLD, WANT = ("/srv/a.py", "main", 1), ("/srv/a.py", "hold", 10), ("/srv/a.py", "want", 20)
OTHER, NATIVE = ("/srv/b.py", "other", 30), ("~", "<native>")
HOSTILE = 'x\n\x1b[31m"\\\u202e'


def samples(writer, frames, tid, status, begin_ms, cnt, interp=0):
    stack = writer.stack(frames)
    for i in range(cnt):
        writer.add(stack, tid, status, (begin_ms + i) * 1000, interp)


def made(path, mode="gil", version=(3, 14, 1)):
    """1 holds for 60 ms and waits for 40, 2 waits for 60 and holds for 40, 3 waits and sleeps."""
    writer = Writer()
    samples(writer, [NATIVE, WANT, MAIN], 2, WAITS, 1000, 60)
    samples(writer, [WANT, MAIN], 2, HOLDS, 1060, 40)
    samples(writer, [OTHER, MAIN], 3, WAITS, 1000, 30)
    samples(writer, [OTHER, MAIN], 3, ASLEEP, 1030, 70)
    samples(writer, [HOLD, MAIN], 1, HOLDS | 32, 1000, 60)
    samples(writer, [HOLD, MAIN], 1, WAITS | 32, 1060, 40)
    writer.write(path, mode, version=version)
    return path


def gil(*argv):
    return json.loads(good("gil", "--json", *argv))["processes"]


def at(place):
    return place and (place["function"], place["line"])


def cells(process):
    return {(at(r["holder"]), at(r["waiter"])): round(r["wait_s"], 9) for r in process["matrix"]}


def test_the_numbers(tmp_path):
    path = made(tmp_path / "12-app.tach")
    process, = gil(path)
    assert process["known"] and process["reason"] is None and process["holders_unknown"] is None
    assert (process["pid"], process["comm"], process["mode"]) == (12, "app", "gil")
    assert process["observed_s"] == pytest.approx(0.1) and process["samples"] == 300
    assert process["held_s"] == pytest.approx(0.1)
    assert process["utilisation_pct"] == pytest.approx(100)
    assert process["wait_s"] == pytest.approx(0.13) and process["exact"] is None
    assert cells(process) == {(("hold", 10), ("want", 20)): 0.06,
                              (("want", 20), ("hold", 10)): 0.04,
                              (("hold", 10), ("other", 30)): 0.03}
    assert [(t["thread"], round(t["wait_s"], 9), round(t["held_s"], 9), t["main"])
            for t in process["threads"]] == [(2, 0.06, 0.04, False), (1, 0.04, 0.06, True),
                                             (3, 0.03, 0, False)]
    lines = {at(r["at"]): (round(r["wait_s"], 9), round(r["blamed_s"], 9), round(r["held_s"], 9))
             for r in process["lines"]}
    assert lines == {("hold", 10): (0.04, 0.09, 0.06), ("want", 20): (0.06, 0.04, 0.04),
                     ("other", 30): (0.03, 0, 0)}
    stack = process["stacks"][0]
    assert stack["wait_s"] == pytest.approx(0.06)
    assert [at(f) for f in stack["frames"]] == [("<native>", None), ("want", 20), ("main", 1)]
    assert sum(r["wait_pct"] for r in process["matrix"]) == pytest.approx(100)
    assert not any(process["left_out"].values())


def test_report_by_gil_is_the_same(tmp_path):
    path = made(tmp_path / "12-app.tach")
    assert good("report", "--by", "gil", path) == good("gil", path)
    assert good("report", "--by", "gil", "--json", path) == good("gil", "--json", path)
    refused(run("report", "--by", "gil", "--sort", "name", path), "--sort", status=2)


def test_the_tables(tmp_path):
    text = good("gil", made(tmp_path / "12-app.tach")).splitlines()
    assert text[0] == (f"{tmp_path}/12-app.tach, pid 12 app: GIL held 100.00 % of 0.10 s, waited "
                       "for 0.130 s by 3 of 3 threads, gil mode")
    assert "     0.040     30.77       0.060           1  main" in text
    assert "     0.060     46.15  /srv/a.py:10 hold     /srv/a.py:20 want" in text
    assert "     0.040       0.090       0.060  /srv/a.py:10 hold" in text
    assert "     0.060     46.15  main:1;want:20;<native>" in text
    assert "     0.060     46.15       0.040           2" in text


def test_limit(tmp_path):
    path = made(tmp_path / "12-app.tach")
    process, = gil("--limit", 1, path)
    for rows in ("thread", "line", "matrix", "stack"):
        key = rows if rows == "matrix" else rows + "s"
        assert process[rows + "_rows"] == 3 and len(process[key]) == 1
    assert good("gil", "--limit", 1, path).count("... and 2 more; --limit 0 shows all") == 4


def test_conditions_on_code_and_threads_choose_waits(tmp_path):
    path = made(tmp_path / "12-app.tach")
    for argv in (("--focus", "other"), ("--thread", 3), ("--ignore", "want|hold")):
        process, = gil(*argv, path)
        assert cells(process) == {(("hold", 10), ("other", 30)): 0.03}, argv
        assert process["held_s"] == pytest.approx(0.1)
    process, = gil("--status", "main", path)
    assert cells(process) == {(("want", 20), ("hold", 10)): 0.04}


def test_conditions_on_time_choose_samples(tmp_path):
    process, = gil("--from", "@1.010", "--to", "@1.030", made(tmp_path / "12-app.tach"))
    assert process["samples"] == 60 and process["observed_s"] == pytest.approx(0.02)
    assert cells(process) == {(("hold", 10), ("want", 20)): 0.02,
                              (("hold", 10), ("other", 30)): 0.02}


@pytest.mark.parametrize("mode", ["cpu", "exception"])
def test_a_mode_without_waits(tmp_path, mode):
    path = made(tmp_path / "12-app.tach", mode)
    process, = gil(path)
    assert not process["known"] and "--mode gil" in process["reason"]
    assert "wait_s" not in process and "utilisation_pct" not in process
    line, = good("gil", path).splitlines()
    assert line.startswith(f"{path}, pid 12 app: not recorded: ")


def test_no_gil(tmp_path):
    writer = Writer()
    samples(writer, [MAIN], 1, 2, 1000, 50)
    path = tmp_path / "12-app.tach"
    writer.write(path, "wall")
    process, = gil(path)
    assert not process["known"] and process["reason"].startswith("no thread held or wanted the GIL")
    (tmp_path / "session.json").write_text(json.dumps(
        {"processes": [{"file": "12-app.tach", "pid": 12, "free_threaded": True}]}))
    process, = gil(tmp_path)
    assert not process["known"] and process["reason"].startswith("a free-threaded Python")
    assert "a free-threaded Python" in good("gil", tmp_path)


def test_nobody_waited(tmp_path):
    writer = Writer()
    samples(writer, [MAIN], 1, HOLDS, 1000, 50)
    samples(writer, [MAIN], 1, ASLEEP, 1050, 150)
    path = tmp_path / "12-app.tach"
    writer.write(path, "wall")
    process, = gil(path)
    assert process["known"] and process["wait_s"] == 0 and not process["matrix"]
    assert process["utilisation_pct"] == pytest.approx(25)
    line, = good("gil", path).splitlines()
    assert "GIL held 25.00 % of 0.20 s, no wait for it among 200 samples, wall mode" in line


def test_waits_without_holders(tmp_path):
    """As mode offcpu has them."""
    writer = Writer()
    samples(writer, [WANT], 1, WAITS, 1000, 50)
    path = tmp_path / "12-app.tach"
    writer.write(path, "wall")
    process, = gil(path)
    assert process["known"] and process["holders_unknown"]
    assert process["held_s"] is None and process["utilisation_pct"] is None
    assert cells(process) == {(None, ("want", 20)): 0.05}
    text = good("gil", path)
    assert "running threads were not recorded" in text and "(no holder seen)" in text


def test_a_directory_has_the_longest_waits_first(tmp_path):
    made(tmp_path / "12-app.tach")
    made(tmp_path / "5-cpu.tach", "cpu")
    writer = Writer()
    samples(writer, [HOLD], 1, HOLDS, 0, 500)
    samples(writer, [WANT], 2, WAITS, 0, 500)
    writer.write(tmp_path / "99-most.tach", "all")
    (tmp_path / "session.json").write_text(json.dumps({"processes": [
        {"file": "12-app.tach", "pid": 12, "comm": HOSTILE, "command": HOSTILE, "gil": {
            "wait_ns": 131500000, "waits": 9, "longest_wait_ns": 60000000, "threads": [
                {"thread": 2, "name": HOSTILE, "wait_ns": 60100000, "waits": 4,
                 "longest_wait_ns": 60000000}, {"thread": "x"}, 7]}},
        {"file": "99-most.tach", "pid": 99, "comm": "most", "gil": {"wait_ns": -1}}]}))
    most, app, cpu = gil(tmp_path)
    assert [p["pid"] for p in (most, app, cpu)] == [99, 12, 5]
    assert app["comm"] == app["command"] == HOSTILE
    assert app["exact"] == {"wait_s": 0.1315, "waits": 9, "longest_wait_s": 0.06}
    thread = app["threads"][0]
    assert thread["name"] == HOSTILE and thread["exact"]["wait_s"] == pytest.approx(0.0601)
    assert app["threads"][1]["exact"] is None
    assert most["exact"]["wait_s"] == 0
    text = good("gil", tmp_path)
    assert "measured: 0.131500 s in 9 waits" in text
    assert "measured: 0.060100 s in 4 waits, the longest 0.060000 s" in text
    assert "\x1b" not in text and "\u202e" not in text
    # of a part of the waits nothing was measured
    part, = gil("--process", 12, "--thread", 2, tmp_path)
    assert part["exact"] is None and part["threads"][0]["exact"] is None


def test_columns_stay_in_a_pipe(tmp_path):
    """Long paths and names of threads move nothing: what is in a column begins below its heading."""
    writer = Writer()
    far = f"/srv/{'directory/' * 12}app.py"
    for number, (file, tid) in enumerate((("/a.py", 2), (far, 3))):
        samples(writer, [(file, f"hold{number}", 10)], 1, HOLDS, 1000 * number, 100)
        samples(writer, [(file, f"want{number}", 20)], tid, WAITS, 1000 * number, 50 + 10 * number)
    writer.write(tmp_path / "7-app.tach", "gil")
    waits = [{"thread": tid, "name": name, "wait_ns": 10 ** 7, "waits": 3, "longest_wait_ns": 10 ** 6}
             for tid, name in ((2, "a"), (3, "a-long-name-of-it"))]
    (tmp_path / "session.json").write_text(json.dumps({"processes": [
        {"file": "7-app.tach", "pid": 7, "comm": "app", "gil": {
            "wait_ns": 2 * 10 ** 7, "waits": 6, "longest_wait_ns": 10 ** 6, "threads": waits}}]}))
    lines = good("gil", tmp_path).splitlines()
    head = next(i for i, line in enumerate(lines) if "while it was held at" in line)
    at = lines[head].index("waited at")
    cells = [line[at:] for line in lines[head + 1:head + 3]]
    assert sorted(cells) == sorted(["/a.py:20 want0", f"{far}:20 want1"]), cells
    assert all(line[at - 2:at] == "  " for line in lines[head + 1:head + 3])
    measured = {line.index("measured:") for line in lines if "measured: 0.010000" in line}
    assert len(measured) == 1 and sum("measured: 0.010000" in line for line in lines) == 2


def test_a_file_of_several_processes(tmp_path):
    writer = Writer()
    one, two = ("~", "<process 11 one>"), ("~", "<process 22 two>")
    samples(writer, [HOLD, one], 11, HOLDS, 1000, 50)
    samples(writer, [WANT, one], 12, WAITS, 1000, 50)
    samples(writer, [WANT, two], 22, WAITS, 1000, 20)
    samples(writer, [HOLD, two], 22, HOLDS, 1020, 20)
    path = tmp_path / "merged-x.tach"
    writer.write(path, "wall")
    one, two = gil(path)
    assert (one["pid"], one["comm"], two["pid"], two["comm"]) == (11, "one", 22, "two")
    assert cells(one) == {(("hold", 10), ("want", 20)): 0.05}
    # the nearest holder is oneself: somebody else was not seen
    assert cells(two) == {(None, ("want", 20)): 0.02}
    assert [at(f) for f in one["stacks"][0]["frames"]] == [("want", 20)]
    only, = gil("--process", "two", path)
    assert only["pid"] == 22


def test_interpreters(tmp_path):
    writer = Writer()
    samples(writer, [HOLD], 1, HOLDS, 1000, 50)
    samples(writer, [OTHER], 2, HOLDS, 1000, 100, interp=3)
    samples(writer, [WANT], 4, WAITS, 1000, 50)
    path = tmp_path / "12-app.tach"
    writer.write(path, "wall", version=(3, 13, 0))
    process, = gil(path)
    assert [(i["interpreter"], round(i["held_s"], 9), round(i["utilisation_pct"], 6))
            for i in process["interpreters"]] == [(0, 0.05, 50), (3, 0.1, 100)]
    assert process["utilisation_pct"] == 100
    assert cells(process) == {(("hold", 10), ("want", 20)): 0.05}
    assert "  interpreter 3: GIL held 100.00 %, waited for 0.000 s" in good("gil", path)


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_it_fits_the_terminal(tmp_path, columns):
    writer = Writer()
    deep = [("/a/rather/long/path/to/some/module.py", "Klass.method_%d" % i, 100 + i)
            for i in range(20)]
    samples(writer, deep[:10], 1, HOLDS, 1000, 50)
    samples(writer, deep[10:], 2, WAITS, 1000, 50)
    path = tmp_path / "12-app.tach"
    writer.write(path, "wall")
    lines = on_terminal(columns, "gil", path)[1:]
    assert max(map(len, lines)) <= columns
    assert any("…" in line for line in lines)
    assert any("10 Klass.method_10" in line for line in lines)


def test_hostile_names(tmp_path):
    writer = Writer()
    samples(writer, [(HOSTILE, HOSTILE, 7)], 1, HOLDS, 1000, 50)
    samples(writer, [(HOSTILE, HOSTILE, 8)], 2, WAITS, 1000, 50)
    path = tmp_path / "12-app.tach"
    writer.write(path, "wall")
    text = good("gil", path)
    assert "\x1b" not in text and "\u202e" not in text and r"x\x0a\x1b[31m" in text
    process, = gil(path)
    assert process["matrix"][0]["holder"] == {"function": HOSTILE, "file": HOSTILE, "line": 7}


def test_what_cannot_be_read(tmp_path):
    folded = tmp_path / "x.folded"
    folded.write_text("a;b 3\n")
    refused(run("gil", folded), "no data about the GIL")
    writer = Writer()
    samples(writer, [MAIN], 1, HOLDS, 1000, 5)
    writer.write(tmp_path / "1-a.tach", "wall", interval_us=0)
    refused(run("gil", tmp_path / "1-a.tach"), "how much time")
    whole = made(tmp_path / "2-b.tach").read_bytes()
    (tmp_path / "2-b.tach").write_bytes(whole[:80] + b"\xff" * 40 + whole[120:])
    done = run("gil", tmp_path / "2-b.tach", made(tmp_path / "3-c.tach"))
    refused(done, "2-b.tach")       # once, though it is read twice
    assert "3-c.tach, pid 3 c: GIL held 100.00 %" in done.stdout
    refused(run("gil"), "no input file", status=2)


def test_no_samples(tmp_path):
    Writer().write(tmp_path / "1-a.tach", "wall")
    line, = good("gil", tmp_path / "1-a.tach").splitlines()
    assert "no thread held or wanted the GIL" in line


def test_cpythons_own_capture():
    """What CPython 3.15 took to be so: shares of its samples."""
    process, = gil(GOLDEN / "wall_zstd.bin")
    info, = json.loads(good("info", "--json", GOLDEN / "wall_zstd.bin"))["files"]
    waits = sum(t["gil_requested"] for t in info["threads"])
    holds = sum(t["has_gil"] for t in info["threads"])
    assert process["wait_s"] == pytest.approx(waits * info["interval_us"] / 1e6)
    assert process["held_s"] == pytest.approx(holds * info["interval_us"] / 1e6)
    known = sum(r["wait_s"] for r in process["matrix"] if r["holder"])
    # one in seven of its samples failed, holders' among them
    assert known >= 0.9 * process["wait_s"]
