# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""report --annotate and report --mine: source with samples; on CPython's captures, on files of our own, on a real program."""
import collections
import json
import os
import re
import time

import pytest

import make_tach
from captures import GOLDEN, lines_of
from command import good, on_terminal, refused, run
from paths import REPO
from recording import succeeded, tachbpf

SOURCE = '''\
def work(n):
    x = 0
    for i in range(n):
        x += cheap(i) + sum(costly(i))
    return x


def main():
\treturn work(3)
'''
LINE_4 = "        x += cheap(i) + sum(costly(i))"
# A frame in line 4 of the source, at this expression.
EXPRESSIONS = {e: (4, 4, LINE_4.index(e), LINE_4.index(e) + len(e)) for e in ("cheap(i)", "costly(i)")}
LIBRARY = ("/usr/lib/python3.11/json/encoder.py", "encode", 7, 7, 0, 4)


def rows_of(*argv):
    return json.loads(good("report", "--json", "--limit", 0, *argv))


@pytest.fixture
def app(tmp_path):
    """A source file and a profile of it: 16 samples."""
    source = tmp_path / "app.py"
    source.write_text(SOURCE)
    w = make_tach.Writer()

    def add(count, *frames):
        stack = w.stack([f if len(f) > 5 else (str(source), *f) for f in frames])
        for _ in range(count):
            w.add(stack)

    def work(expression):
        return (str(source), "work", *EXPRESSIONS[expression])
    main = (str(source), "main", 9, 9, 8, 15)
    add(8, work("costly(i)"), main)
    add(2, work("cheap(i)"), main)
    add(4, LIBRARY, work("cheap(i)"), main)
    add(1, ("work", 2), main)
    add(1, LIBRARY)
    w.write(tmp_path / "7-app.tach")
    return tmp_path / "7-app.tach"


def test_the_hottest_line_is_first_and_its_expression_is_marked(app):
    text = good("report", "--annotate", app)
    lines = text.splitlines()
    assert lines[1] == f"Hottest line: 62.50 % at {app.parent}/app.py:4"
    assert lines[2] == f"    {LINE_4.strip()}"
    assert lines[4] == f"{app.parent}/app.py, self 68.75 %"
    assert lines[5].split() == "self % total % line source".split()
    at = lines.index("  62.50    87.50       4  " + LINE_4)
    assert lines[at - 4:at + 3] == [
        " " * 26 + "work: self 68.75 %, total 93.75 %",
        "                       1  def work(n):",
        "   6.25     6.25       2      x = 0",
        "                       3      for i in range(n):",
        "  62.50    87.50       4  " + LINE_4,
        " " * 26 + " " * LINE_4.index("costly") + "^" * len("costly(i)") + " 50.00 %",
        "                       5      return x"]
    assert "encoder.py" in text and "not on this machine" not in text.split("encoder.py")[0]


def test_mine_folds_libraries_into_the_line_that_calls_them(app):
    rows = {(r["function"], r["line"]): (r["self"], r["total"]) for r in rows_of("--mine", "--by", "line", app)["rows"]}
    assert rows == {("work", 4): (14, 14), ("work", 2): (1, 1), ("main", 9): (0, 15)}
    functions = rows_of("--mine", app)
    assert {r["function"]: r["self"] for r in functions["rows"]} == {"work": 15, "main": 0}
    assert functions["samples"] == 16 and functions["outside"] == 1
    text = good("report", "--mine", app)
    assert "encode" not in text and "\n6.25 % of the samples have no project code on their stack.\n" in text
    text = good("report", "--annotate", "--mine", app)
    assert "encode" not in text and "  87.50    87.50       4  " + LINE_4 in text
    row = rows_of("--annotate", "--mine", app)["rows"][0]
    assert {e["column"]: e["self"] for e in row["expressions"]} == {EXPRESSIONS[e][2]: n for e, n in (
        ("costly(i)", 8), ("cheap(i)", 6))}


def test_a_function_or_file_is_shown_whole(app):
    text = good("report", "--annotate=main", app)
    assert re.search(r"^ {11}93\.75       9  return work\(3\)$", text, re.M) and "work: self" not in text
    assert "main: self" in good("report", "--annotate=app.py", app)
    assert "encode: self" not in good("report", "--annotate=app.py", app)
    assert rows_of("--annotate=main", app)["row_count"] == 1
    refused(run("report", "--annotate=ain", app), "'ain'", "tachbpf report")


def test_it_says_what_the_text_is(app):
    """A file that is newer than the recording, another one, none."""
    source = app.parent / "app.py"
    # session.json says when it was: a second ago, for a millisecond
    app.parent.joinpath("session.json").write_text(json.dumps({
        "start_time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600)), "start_monotonic_us": 0,
        "duration_s": 0.001, "processes": [{"file": app.name, "pid": 7, "comm": "app"}]}))
    newer = "The file is newer than the recording"
    assert newer in good("report", "--annotate", app.parent)
    assert rows_of("--annotate", app.parent)["files"][0] == {
        "file": str(source), "self": 11, "source": "disk", "changed": True}
    os.utime(source, (1, 1))
    assert newer not in good("report", "--annotate", app.parent)
    source.write_text("x = 1\n")
    assert "has fewer lines" in good("report", "--annotate", app.parent)
    source.unlink()
    text = good("report", "--annotate", app.parent)
    assert "The source is not on this machine." in text and "\n  62.50    87.50       4\n" in text
    assert rows_of("--annotate", app.parent)["files"][0]["source"] is None


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_it_fits_the_terminal(app, columns):
    rows = on_terminal(columns, "report", "--annotate", "--limit", 0, app)
    rows = rows[[r.startswith("Hottest line: ") for r in rows].index(True):]
    assert max(map(len, rows)) <= columns
    assert any("^ 50.00 %" in r for r in rows) or columns == 60


def test_hostile_text(tmp_path):
    """Names and source text are escaped; a line number need not be in the file."""
    source = tmp_path / "x\x1b[31m.py"
    source.write_text("a = '\x1b[2J\u202e'\n" + "b = 1\n")
    w = make_tach.Writer()
    for line in (1, 2, 2**31 - 1):
        w.add(w.stack([(str(source), "f\x1b[0m", line, line, 2**30, 2**31 - 1)]))
        w.add(w.stack([(str(source), "f\x1b[0m", line, line, 1, 3)]))
        w.add(w.stack([(str(source), "f\x1b[0m", line, line, 2, 2**31 - 1)]))
    w.write(tmp_path / "x.tach")
    text = good("report", "--annotate", "--limit", 0, tmp_path / "x.tach")
    assert "\x1b" not in text and "\u202e" not in text and r"a = '\x1b[2J" in text
    assert "\x1b" not in good("report", "--annotate=f\x1b[0m", tmp_path / "x.tach")
    refused(run("report", "--annotate=\x1b[31m", tmp_path / "x.tach"), r"\x1b[31m")


@pytest.mark.parametrize("name", ["cpu_raw", "wall_zstd", "deep400"])
def test_lines_are_what_report_by_line_says(name):
    """self of each line, and total of those that have one function."""
    annotated = {(r["file"], r["line"]): r for r in rows_of("--annotate", GOLDEN / f"{name}.bin")["rows"]}
    lines = collections.defaultdict(list)
    for row in rows_of("--by", "line", GOLDEN / f"{name}.bin")["rows"]:
        if row["kind"] == "python" and row["line"]:
            lines[row["file"], row["line"]].append(row)
    assert annotated.keys() == lines.keys() and annotated
    for place, rows in lines.items():
        assert annotated[place]["self"] == sum(r["self"] for r in rows)
        if len(rows) == 1:
            assert annotated[place]["total"] == rows[0]["total"]


def test_expressions_are_what_cpython_says():
    """CPython 3.15 has read the same capture: tests/golden/tach/cpu_raw.lines.txt."""
    self_count, total, line_total = collections.Counter(), collections.Counter(), collections.Counter()
    for *_, frames in lines_of("cpu_raw.lines.txt"):
        frames = [(f[0], *f[2:6]) for f in frames if f[1] != "<GC>"]
        self_count[frames[0]] += 1
        total.update(set(frames))
        line_total.update({f[:2] for f in frames})
    rows = rows_of("--annotate", GOLDEN / "cpu_raw.bin")["rows"]
    assert {(r["file"], r["line"]): r["total"] for r in rows} == {k: n for k, n in line_total.items() if k[1] > 0}
    seen = 0
    for row in rows:
        for e in row["expressions"]:
            key = (row["file"], row["line"], e["end_line"], e["column"], e["end_column"])
            assert (e["self"], e["total"]) == (self_count[key], total[key])
            seen += e["self"]
        assert [e["self"] for e in row["expressions"]] == sorted((e["self"] for e in row["expressions"]), reverse=True)
    assert 0.9 * 467 < seen <= 467


OWNERS = ["/srv/app.py", "app.py", "<string>", "<frozen runpy>", "<frozenx>", "/usr/lib/python3.11/os.py",
          "/usr/lib64/python3/os.py", "/home/me/lib/python/x.py", "/x/python311.zip/os.py", "/x/python.zip/os.py",
          "/v/lib/python3.12/site-packages/a/b.py", "/usr/lib/python3/dist-packages/a.py", "/srv/site-packages.py",
          "/usr/bin/tool", "/bin/tool", "/srv/bin/tool", "/usr/share/a/b.py", "/usr/libexec/a", "/snap/a/b.py", "/usr/src/a.py"]


def test_whose_code_it_is_is_the_pages_rule(tmp_path):
    """common.js says it with regular expressions; user/model/code_owner.c must agree."""
    js = (REPO / "user/formats/html/pages/common.js").read_text()
    body = js[js.index("function ownerOf("):]
    others = [re.compile(e) for e in re.findall(r"/(.*)/\.test\(file\)", body[:body.index("\n}")])]
    assert len(others) == 3
    w = make_tach.Writer()
    for file in OWNERS:
        w.add(w.stack([(file, "f", 1)]))
    w.write(tmp_path / "x.tach")
    own = {r["file"] for r in rows_of("--mine", tmp_path / "x.tach")["rows"]}
    assert own == {f for f in OWNERS if not any(e.search(f) for e in others)}


PROGRAM = '''\
import time


def work():
    x = 0
    for i in range(300):
        x += max(range(4000)) + sum(range(20000))
        x += sum(range(6000))
    return x


end = time.process_time() + 0.5
while time.process_time() < end:
    work()
'''


def test_a_real_program(tmp_path, python):
    """Two hot lines and, from 3.11 on, a hot expression."""
    program = tmp_path / "hot.py"
    program.write_text(PROGRAM)
    succeeded(tachbpf("-o", tmp_path / "rec", "--", *python.command(program)))
    rows = [r for r in rows_of("--annotate", tmp_path / "rec")["rows"] if r["file"] == str(program)]
    assert [(r["function"], r["line"]) for r in rows[:2]] == [("work", 7), ("work", 8)]
    first, second, third = good("report", "--annotate", tmp_path / "rec").splitlines()[:3]
    assert second.endswith(f"at {program}:7") and third == "    x += max(range(4000)) + sum(range(20000))", first
    lines = good("report", "--annotate=work", tmp_path / "rec").splitlines()
    at, = [i for i, line in enumerate(lines) if line.endswith("x += max(range(4000)) + sum(range(20000))")]
    if python.minor >= (3, 11):
        marks = lines[at + 1]
        hottest = lines[at][marks.index("^"):marks.rindex("^") + 1]
        assert hottest == "sum(range(20000))", lines
    else:
        assert "^" not in "".join(lines)
