# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The commands on files, as a user runs them: on CPython's own captures, and on everything bad."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import make_tach
from captures import CAPTURES, GOLDEN, RELEASE, lines_of, stacks
from command import good, on_full_disk, on_terminal, refused, run
from paths import REPO, binary
from processes import TIMEOUT

COMMANDS = ("info", "report", "convert")
READERS = (*COMMANDS, "open", "split", "diff")         # of every format
WRITERS = ("merge", "split", "diff", "recover")      # test_files_*.py


# ---- replay ----

@pytest.mark.parametrize("name", CAPTURES)
def test_replay_is_what_cpython_says(name):
    want = (GOLDEN / (name.split(".")[0] + ".collapsed")).read_text()
    assert stacks(good("replay", GOLDEN / name)) == stacks(want)


def test_replay_into_a_file(tmp_path):
    out = tmp_path / "out.txt"
    out.write_text("old")
    good("replay", GOLDEN / "cpu_raw.bin", "--format", "collapsed", "-o", out)
    assert out.read_text() == good("replay", GOLDEN / "cpu_raw.bin", "-o", "-")
    assert os.listdir(tmp_path) == ["out.txt"]


def test_replay_does_not_write_through_a_link(tmp_path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "link").symlink_to("victim")
    refused(run("replay", GOLDEN / "cpu_raw.bin", "-o", tmp_path / "link"), "link")
    assert (tmp_path / "victim").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["link", "victim"]


def test_replay_into_a_directory_that_is_not_there(tmp_path):
    refused(run("replay", GOLDEN / "cpu_raw.bin", "-o", tmp_path / "no" / "x"), "no/x",
            "No such file")


def test_replay_lists_the_formats():
    assert re.search(r"^collapsed +\S", good("replay", "--format", "help"), re.M)


def test_replay_to_a_full_device():
    refused(on_full_disk("replay", GOLDEN / "cpu_raw.bin"), "No space left")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("ignored", [True, False])
def test_a_reader_that_goes_away_is_no_error(command, ignored):
    """Whether SIGPIPE kills us or write() says EPIPE: not a word."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([binary(), command, GOLDEN / "cpu_raw.bin"], stdout=writer,
                          stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                          restore_signals=not ignored)
    os.close(writer)
    assert not done.stderr and done.returncode != 0


# ---- report ----

def expected(by_line, detail=True):
    """self and total of cpu_raw with or without --detail, from the decoded samples."""
    self_count, total = collections.Counter(), collections.Counter()
    for *_, frames in lines_of("cpu_raw.lines.txt"):
        frames = [f for f in frames if detail or f[1] != "<GC>"]
        keys = [(f[1], None if f[0] == "~" else f[0], f[2] if by_line else None) for f in frames]
        keys = [(func, file, None if line == -1 else line) for func, file, line in keys]
        self_count[keys[0]] += 1
        total.update(set(keys))
    return self_count, total


def test_one_is_no_plural(tmp_path):
    one = make_tach.Writer()
    one.add(one.stack([("a.py", "f", 1)]))
    one.write(tmp_path / "1.tach")
    assert ": 1 sample, " in good("report", tmp_path / "1.tach")
    assert " 1 thread, 2 strings, 1 frame\n" in good("info", tmp_path / "1.tach")
    assert ": sound: 1 sample, " in good("info", "--verify", tmp_path / "1.tach")
    assert ": 1 sample (100 %)" in good("diff", *[tmp_path / "1.tach"] * 2)
    assert "no wait for it among 1 sample," in gil_of(one, tmp_path)
    refused(run("diff", tmp_path / "1.tach"), "1 profile to compare", status=2)


def gil_of(writer, tmp_path):
    writer.write(tmp_path / "gil.tach", mode="gil")
    return good("gil", tmp_path / "gil.tach")


@pytest.mark.parametrize("layout", ["", ".draft1", ".draft2.swapped", ".release.swapped"])
@pytest.mark.parametrize("by", ["function", "line"])
def test_report_numbers(by, layout):
    self_count, total = expected(by == "line")
    report = json.loads(good("report", "--json", "--limit", 0, "--by", by, "--detail",
                             GOLDEN / f"cpu_raw{layout}.bin"))
    rows = {(r["function"], r["file"], r["line"] if by == "line" else None): r
            for r in report["rows"]}
    assert report["samples"] == 467 and len(rows) == len(report["rows"]) == report["row_count"]
    assert {k: r["total"] for k, r in rows.items()} == total
    assert {k: r["self"] for k, r in rows.items() if r["self"]} == self_count
    for row in rows.values():
        assert abs(row["self_pct"] - 100 * row["self"] / 467) < 1e-9
        assert abs(row["total_pct"] - 100 * row["total"] / 467) < 1e-9


@pytest.mark.parametrize("by", ["function", "line"])
def test_self_is_that_of_the_python_function(by):
    """Without --detail, <GC> has no row, and its self is that of the function below it."""
    self_count, total = expected(by == "line", detail=False)
    rows = json.loads(good("report", "--json", "--limit", 0, "--by", by, GOLDEN / "cpu_raw.bin"))["rows"]
    rows = {(r["function"], r["file"], r["line"] if by == "line" else None): r for r in rows}
    assert {k: r["total"] for k, r in rows.items()} == total
    assert {k: r["self"] for k, r in rows.items() if r["self"]} == self_count
    assert sum(self_count.values()) == 467
    # diff shows the same shares
    same = json.loads(good("diff", "--json", "--limit", 0, *[GOLDEN / "cpu_raw.bin"] * 2))["rows"]
    named = {(r["function"], r["file"], None): r["a"]["self"] for r in same}
    detailed = json.loads(good("diff", "--json", "--limit", 0, "--detail", *[GOLDEN / "cpu_raw.bin"] * 2))["rows"]
    assert "<GC>" not in {func for func, *_ in named} and "<GC>" in {r["function"] for r in detailed}
    if by == "function":
        assert {k: n for k, n in named.items() if n} == self_count


def test_report_counts_recursion_once():
    top = json.loads(good("report", "--json", GOLDEN / "deep400.bin"))
    for row in top["rows"]:
        assert row["self"] <= row["total"] <= top["samples"] == 160


@pytest.mark.parametrize("by", ["function", "line"])
def test_report_of_two_files_is_their_sum(by):
    def rows(*names):
        report = json.loads(good("report", "--json", "--limit", 0, "--by", by,
                                 *(GOLDEN / n for n in names)))
        return collections.Counter({(r["function"], r["file"], by == "line" and r["line"]):
                                    r["total"] for r in report["rows"]}), report["samples"]
    one, two = rows("cpu_raw.bin"), rows("wall_zstd.bin")
    assert rows("cpu_raw.bin", "wall_zstd.bin") == (one[0] + two[0], one[1] + two[1])


def test_report_by_thread():
    want = collections.Counter(tid for tid, *_ in lines_of("cpu_raw.lines.txt"))
    report = json.loads(good("report", "--json", "--by", "thread", GOLDEN / "cpu_raw.bin"))
    assert {r["thread"]: r["self"] for r in report["rows"]} == want


@pytest.mark.parametrize("sort,key,reverse", [
    ("self", lambda r: r["self"], True), ("samples", lambda r: r["self"], True),
    ("total", lambda r: r["total"], True), ("name", lambda r: r["function"].encode(), False),
    ("file", lambda r: (r["file"] or "~").encode(), False)])
def test_report_order_and_limit(sort, key, reverse):
    def rows(limit):
        return json.loads(good("report", "--json", "--sort", sort, "--limit", limit,
                               GOLDEN / "cpu_raw.bin"))["rows"]
    keys = [key(r) for r in rows(0)]
    assert keys == sorted(keys, reverse=reverse)
    assert rows(3) == rows(0)[:3]


def test_report_table():
    first, empty, head, *rows = good("report", "--detail", GOLDEN / "cpu_raw.bin").splitlines()
    assert first.endswith("cpu_raw.bin: 467 samples, 0.85 s, cpu mode") and not empty
    assert head.split() == ["self", "%", "total", "%", "samples", "function", "file:line"]
    assert rows[0].split() == ["46.90", "49.25", "219", "garbage", "/w/fx/mix.py:21"]
    gc, = [r for r in rows if "<GC>" in r]
    assert gc.endswith("<GC>")
    assert len(rows) == 21 and rows[-1].startswith("... ")


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
@pytest.mark.parametrize("by", ["function", "line", "process", "thread"])
def test_report_fits_the_terminal(columns, by):
    rows = on_terminal(columns, "report", "--by", by, "--limit", 0, GOLDEN / "cpu_raw.bin")
    rows = rows[rows.index("") + 1:]
    assert max(map(len, rows)) <= columns
    if by == "function" and columns == 80:
        assert any("…" in r for r in rows)
    if columns == 200:
        assert not any("…" in r for r in rows)


# ---- info ----

@pytest.mark.parametrize("name", RELEASE)
def test_info_says_what_cpython_says(name):
    want = json.loads((GOLDEN / (name[:-4] + ".info.json")).read_text())
    info, = json.loads(good("info", "--json", GOLDEN / name))["files"]
    modes = ["wall", "cpu", "gil", "all", "exception"]
    features = ["all_threads", "native", "gc", "opcodes", "blocking"]
    assert info["layout"] == "release" and info["byte_order"] == sys.byteorder
    assert info["python"] == ".".join(map(str, want["python_version"]))
    assert info["mode"] == modes[want["mode"]]
    assert info["features"] == [f for i, f in enumerate(features)
                                if want["capture_features"] >> i & 1]
    for ours, theirs in {
            "version": "version", "start_us": "start_time_us", "samples": "sample_count",
            "interval_us": "sample_interval_us", "thread_count": "thread_count",
            "string_count": "string_count", "frame_count": "frame_count",
            "duration_s": "duration_sec", "sample_rate_hz": "sample_rate",
            "error_pct": "error_rate", "missed_pct": "missed_samples"}.items():
        assert info[ours] == want[theirs], ours
    assert info["compression"] == ["none", "zstd"][want["compression_type"]]
    assert info["size_bytes"] == (GOLDEN / name).stat().st_size
    assert sum(t["samples"] for t in info["threads"]) == want["sample_count"]


def test_info_of_threads():
    info, = json.loads(good("info", "--json", GOLDEN / "cpu_raw.bin"))["files"]
    want = {}
    for tid, interp, time, status, _ in lines_of("cpu_raw.lines.txt"):
        t = want.setdefault((tid, interp), collections.Counter())
        t["samples"] += 1
        for bit, key in enumerate(["has_gil", "on_cpu", "cpu_unknown", "gil_requested",
                                   "has_exception", "main"]):
            t[key] += status >> bit & 1
        t["last_us"] = max(t["last_us"], time)
    assert len(want) == len(info["threads"])
    for thread in info["threads"]:
        t = want[thread["thread"], thread["interpreter"]]
        for key in ("samples", "has_gil", "on_cpu", "cpu_unknown", "gil_requested",
                    "has_exception", "last_us"):
            assert thread[key] == t[key], (thread, key)
        assert thread["main"] == (t["main"] > 0)


def test_tables_of_threads_end_after_20(many_threads):
    """The busiest; of info also the main thread, which is the idlest. Main threads are marked."""
    rows = good("info", many_threads).splitlines()
    table = rows[next(i for i, r in enumerate(rows) if r.split()[:1] == ["thread"]) + 1:]
    assert [r.split()[0] for r in table[:20]] == [str(100 + i) for i in (*range(19), 29)]
    assert [r.split()[0] for r in table if r.endswith("main")] == ["129"]
    assert table[20] == "  ... and 10 more; --limit 0 shows all"
    assert "more" not in good("info", "--limit", 0, many_threads)
    report = good("report", "--by", "thread", many_threads).splitlines()
    assert report[-1] == "... and 10 more; --limit 0 shows all" and len(report) == 3 + 20 + 1
    everything = good("report", "--by", "thread", "--limit", 0, many_threads)
    assert re.findall(r"main +(\d+)", everything) == ["129"]
    rows = json.loads(good("report", "--by", "thread", "--json", "--limit", 0, many_threads))["rows"]
    assert {r["thread"] for r in rows if r["main"]} == {129}
    assert len(json.loads(good("info", "--json", many_threads))["files"][0]["threads"]) == 30


@pytest.mark.parametrize("name", CAPTURES)
def test_info_text(name):
    text = good("info", GOLDEN / name)
    layout = next((w for w in ("draft1", "draft2") if w in name), "release")
    assert re.search(rf"^  layout +{layout}, version \d, (big|little)-endian$", text, re.M)
    assert ("python  " in text) == (layout != "draft2")


# ---- directories ----

HOSTILE = 'a\n\x1b[31m"\\\u202e'


@pytest.fixture
def recording(tmp_path):
    """A directory as tachbpf leaves it, with a process whose name is an attack."""
    where = tmp_path / "rec"
    where.mkdir()
    shutil.copy(GOLDEN / "cpu_raw.bin", where / "12-app.tach")
    shutil.copy(GOLDEN / "wall_zstd.bin", where / "7-other.tach")
    shutil.copy(GOLDEN / "deep400.bin", where / "100-x.y.tach")
    (where / "README").write_text("not a profile")
    (where / "session.json").write_text(json.dumps({
        "duration_s": 1.5, "lost": {"ring_full": 3, "unreadable": 0},
        "processes": [
            {"file": "/elsewhere/12-app.tach", "pid": 12, "comm": HOSTILE,
             "command": ["app", HOSTILE], "lost": {"ring_full": 3}},
            {"file": "7-other.tach", "pid": 7, "comm": "other", "command": "other -x"},
            {"file": "gone.tach", "pid": 5}]}))
    return where


def test_info_of_a_directory(recording):
    info = json.loads(good("info", "--json", recording))
    assert info["recordings"] == [{"path": str(recording), "duration_s": 1.5,
                                   "lost": {"ring_full": 3, "unreadable": 0}}]
    assert [(f["pid"], f["comm"], f["command"], f["lost"]) for f in info["files"]] == [
        (7, "other", "other -x", {}), (12, HOSTILE, "app " + HOSTILE, {"ring_full": 3}),
        (100, "x.y", None, {})]
    text = good("info", recording)
    assert "3 samples: the ring buffer was full" in text and "other -x" in text
    assert "\x1b" not in text and "\u202e" not in text and r"a\x0a\x1b[31m" in text


def test_report_of_a_directory(recording):
    report = json.loads(good("report", "--json", "--by", "process", recording))
    assert [(r["pid"], r["self"]) for r in report["rows"]] == [(7, 2574), (12, 467), (100, 160)]
    text = good("report", "--by", "process", recording)
    assert "3 processes: 3201 samples" in text and "\x1b" not in text and "\u202e" not in text
    table, foot = good("report", "--by", "thread", "--limit", 0, recording).split("\n\nLost:\n")
    assert len(table.splitlines()) == 16
    assert foot.startswith(r"  12 a\x0a\x1b[31m") and foot.endswith(": 3 samples: the ring buffer was full\n")
    lost, = report["lost"]
    assert (lost["pid"], lost["lost"], lost["lost_threads"]) == (12, {"ring_full": 3}, {})


def test_replay_of_a_directory(recording):
    assert sum(stacks(good("replay", recording)).values()) == 2574 + 467 + 160


@pytest.mark.parametrize("command", COMMANDS)
def test_a_damaged_file_does_not_hide_the_others(recording, command):
    whole = (recording / "12-app.tach").read_bytes()
    (recording / "12-app.tach").write_bytes(whole[:len(whole) // 2])
    done = run(command, recording)
    refused(done, "12-app.tach")
    assert "garbage" in done.stdout or command == "info" and "7-other.tach" in done.stdout


@pytest.mark.parametrize("content", ["", "{", "[]", '{"processes": 3}',
                                     '{"processes": [3, {"file": 1}]}',
                                     "[" * 100000, '{"lost": {"x": "y"}, "duration_s": "z"}'])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_damaged_session_file(recording, content, command):
    (recording / "session.json").write_text(content)
    done = run(command, recording)
    assert done.returncode in (0, 1) and done.stdout
    if done.returncode:
        refused(done, "session.json")


def test_what_is_no_file_is_passed_over(recording):
    os.mkfifo(recording / "3-fifo.tach")
    (recording / "4-dir.tach").mkdir()
    (recording / "5-dangling.tach").symlink_to("nowhere")
    assert len(json.loads(good("info", "--json", recording))["files"]) == 3


@pytest.mark.parametrize("command", COMMANDS)
def test_an_empty_directory(tmp_path, command):
    refused(run(command, tmp_path), "no .tach", " file in directory", str(tmp_path))


# ---- bad files ----

@pytest.mark.parametrize("command", COMMANDS)
def test_files_that_are_none(tmp_path, command):
    refused(run(command, tmp_path / "none"), "none", "No such file or directory")
    os.mkfifo(tmp_path / "fifo")
    refused(run(command, tmp_path / "fifo"), "fifo")
    refused(run(command, "/dev/null"), "/dev/null")
    for content in (b"", b"TACH", b"HCAT" + bytes(60), b"x" * 4096):
        (tmp_path / "bad").write_bytes(content)
        refused(run(command, tmp_path / "bad"), "bad")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["cpu_raw.bin", "wall_zstd.bin"])
def test_truncated_files(tmp_path, command, name):
    whole = (GOLDEN / name).read_bytes()
    for size in (1, 63, 64, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.tach").write_bytes(whole[:size])
        refused(run(command, tmp_path / "cut.tach"), "cut.tach")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hostile_file_name(tmp_path, command):
    name = "e\x1b[31m\n.tach"
    (tmp_path / name).write_bytes(b"no")
    assert r"e\x1b[31m\x0a.tach" in refused(run(command, tmp_path / name))
    assert r"none\x1b" in refused(run(command, tmp_path / "none\x1b"))


# ---- usage ----

@pytest.mark.parametrize("argv,words", [
    (["record"], ["nothing selected", "-a", "-p", "--help"]),
    (["-a", "-p", "1"], ["-a", "-p", "leave one"]),
    (["-a", "--", "x"], ["leave one"]),
    (["-p", "1", "--", "x"], ["only one"]),
    (["-p", "1", "--gil"], ["--gil: use -m gil"]),
    (["--"], ["no command", "python3 app.py"]),
    (["app.py"], ["unknown command 'app.py'", "tachbpf -- app.py"]),
    (["-a", "-r", "0"], ["--rate '0'", "1 to 50000"]),
    (["-a", "-r", "50001"], ["--rate '50001'", "1 to 50000"]),
    (["-a", "-r", "\x1b"], [r"'\x1b'"]),
    (["-a", "-d", "0"], ["--duration '0'", "30s"]),
    (["-a", "-d"], ["--duration needs a value"]),
    (["-a", "-o", "x", "--html", "./x"], ["--html './x'", "-o 'x'", "same file", "another name"]),
    (["-p", "1", "-o", "./x", "--html", "x"], ["--html 'x'", "-o './x'", "same file"]),
    (["-p", "1", "-o", "x", "--html", "x.json"], ["--html 'x.json'", "-o 'x'", "another name"]),
    (["-o", "x.tach", "--html", f"{os.getcwd()}/x.tach", "--", "x"], ["x.tach'", "same file"]),
    (["-a", "--nope"], ["unknown option '--nope'", "--help"]),
    (["-a", "--layout", "old"], ["--layout 'old'", "release, draft1 or draft2"]),
    (["-p", "me"], ["--pid 'me'", "1234"]),
    (["info"], ["no input file", "info --help"]),
    (["info", "-x", "f"], ["unknown option '-x'", "info --help"]),
    (["report", "--by", "x", "f"], ["--by 'x'", "function, line, process, thread"]),
    (["report", "--sort", "x", "f"], ["--sort 'x'", "self, total, samples, name or file"]),
    (["report", "--limit", "x", "f"], ["--limit 'x'"]),
    (["replay", "--format", "x", "f"], ["--format 'x'", "--format help"]),
])
def test_usage_errors(argv, words):
    done = run(*argv)
    refused(done, *words, status=2)
    assert not done.stdout


def test_nothing_shows_how_to_begin():
    done = run()
    assert done.returncode == 2 and not done.stdout and "tachbpf app.py" in done.stderr, repr(done)


@pytest.mark.parametrize("word", ["--version", "-V", "version"])
def test_version(word):
    assert re.fullmatch(r"tachbpf \d+\.\d+\.\d+\n", good(word))


# ---- help and man page ----

def options_of_help(text):
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, re.M)) | \
        set(re.findall(r"^  (-\w), --", text, re.M))


def man_text(heading):
    """The lines of one section of the man page."""
    text = (REPO / "docs" / "tachbpf.1").read_text()
    return re.search(rf"^\.Sh {heading}$(.*?)(?=^\.Sh )", text, re.M | re.S)[1]


def man_sections():
    """The options each section of the man page documents, by its heading."""
    found, heading = collections.defaultdict(set), None
    for line in (REPO / "docs" / "tachbpf.1").read_text().splitlines():
        if line.startswith((".Sh ", ".Ss ")):
            heading = line[4:]
            if line.startswith(".Ss"):
                found[heading]          # also one without options
        elif line.startswith(".It Fl "):
            for word in re.findall(r"Fl (\S+)", line):
                found[heading].add("-" + word.replace("\\-", "-"))
    return found


def test_every_option_is_in_help_and_man_page():
    man = man_sections()
    general = man.pop("General options")
    reading = man.pop("Input options")
    overview = good("--help")
    commands = re.findall(r"^  (\w+) +\S", overview.partition("\nCommands:\n")[2].split("\n\n")[0], re.M)
    assert commands[:2] == ["top", "dump"]       # what most people look for
    assert {"record", "top", "dump", "heap", "open", "mem", "doctor", "gil", "ps", "agent", "completion", *COMMANDS, *WRITERS} == set(commands)
    assert man.pop("agent") == set()      # it has a page of its own: test_the_page_has_all_options
    for command in set(commands) - {"agent"}:
        documented = man.pop(command) | general | (reading if command in READERS else set())
        assert documented == options_of_help(good(command, "--help")), command
        assert re.search(rf"^\.(Op )?Cm {command}$", man_text("SYNOPSIS"), re.M), command
    assert not man
    assert options_of_help(overview) == options_of_help(good("record", "--help"))
    assert max(map(len, overview.splitlines())) <= 80


@pytest.mark.parametrize("page", ["README.md", "docs/quick-start.md", "docs/slow-web-app.md"])
def test_options_in_what_newcomers_read_exist(page):
    text = re.sub(r"\$\([^)\n]*\)", "PID", (REPO / page).read_text())
    commands = re.findall(r"\btachbpf ([^`|\n]*)", text)
    assert len(commands) > 10
    for command in commands:
        words, _, _ = command.partition(" -- ")
        name = words.split()[0] if words.split()[0] in man_sections() else "record"
        used = set(re.findall(r"(?<!\S)--?[a-z][\w-]*", words))
        assert used <= options_of_help(good(name, "--help")), command


def sources():
    """Those of tachbpf, not the agent's."""
    return "\n".join(p.read_text() for p in sorted((REPO / "user").rglob("*.[ch]"))
                     if not {"agent", "delivery"} & set(p.relative_to(REPO).parts))


def test_man_page_has_every_variable_signal_and_status():
    """Those that the program's source names."""
    code = sources()
    kept = re.search(r"kept\[\] = \{(.*?)\};", code, re.S)[1]       # of --open
    variables = {*re.findall(r'(?:getenv|env_id)\("(\w+)"', code), *re.findall(r'"(\w+)"', kept),
                 *re.findall(r'\{ "\w+", "((?:NODE|POD)_\w+)" \}', code)}
    assert {"PAGER", "NO_COLOR", "SUDO_UID", "BROWSER", "POD_NAME"} <= variables
    documented = set(re.findall(r"\b[A-Z][A-Z_]+\b", " ".join(
        line for line in man_text("ENVIRONMENT").splitlines() if line.startswith((".Ev", ".It Ev")))))
    assert variables - documented == set()
    caught = set(re.findall(r"\b(SIG[A-Z]+), (?:&sa|SIG_IGN)", code)) - {"SIGQUIT", "SIGCHLD"}
    assert {"SIGINT", "SIGPIPE"} <= caught
    assert caught - set(re.findall(r"SIG[A-Z]+", man_text("SIGNALS"))) == set()
    statuses = set(re.findall(r"^#define EXIT_\w+ (\d+)$", code, re.M)) | {"0", "1", "126", "127"}
    listed = set(re.findall(r"\d+", " ".join(re.findall(r"^\.It (.*)", man_text("EXIT STATUS"), re.M))))
    assert statuses == listed - {"128"}


@pytest.mark.skipif(not shutil.which("mandoc") and os.environ.get("CI") != "true",
                    reason="mandoc is not installed")
def test_man_page_is_clean():
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", REPO / "docs" / "tachbpf.1"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stdout, done.stdout
