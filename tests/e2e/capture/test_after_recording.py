# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a recording shows when it has ended: the hottest lines, the next commands, a flame graph."""
import itertools
import json
import os
import re
import shlex
import subprocess

import pytest

from desktop import ENV, NOBODY, desktop, opened  # noqa: F401 (a fixture)
from paths import binary
from processes import TIMEOUT
from recording import Recording, succeeded, tachbpf
from target import Target


@pytest.fixture
def busy(scratch, python):
    with Target(python, scratch, "shares=600") as target:
        target.go()
        yield target


def output_of(*argv):
    return subprocess.run([binary(), *map(str, argv)], capture_output=True, text=True, check=True,
                          timeout=TIMEOUT).stdout


def section(text, heading):
    """The lines below a heading."""
    _, found, rest = text.partition(f"\n{heading}")
    assert found, text
    return list(itertools.takewhile(lambda line: line.startswith("  "), rest.splitlines()[1:]))


def commands(text):
    """The commands that are proposed, as words."""
    proposed = [shlex.split(line) for line in section(text, "Next")]
    assert all(words[0] == "tachbpf" for words in proposed)
    return [words[1:] for words in proposed if words[0] == "tachbpf"]


def test_the_hottest_lines_and_the_next_commands(busy, out, monkeypatch):
    monkeypatch.chdir(out)
    said = succeeded(tachbpf("-p", busy.pid, "-d", "1", "-o", "it's mine.tach")).stderr
    assert re.search(r"^CPU: \d+\.\d\d of \d+ CPU", said, re.M)
    rows = json.loads(output_of("report", "--json", "--by", "line", "--limit", 5, "it's mine.tach"))["rows"]
    rows = [r for r in rows if r["self"]]
    lines = section(said, "Hottest lines (of all samples)")
    assert rows and len(lines) == len(rows)
    place = {f"{os.path.basename(r['file'])}:{r['line']}" for r in rows if r["file"]}
    assert [line.split()[:2] for line in lines] == [[f"{row['self_pct']:.2f}", "%"] for row in rows]
    assert place & {line.split()[2] for line in lines}
    # A line has its text.
    row = next(r for r in rows if r["file"] and r["file"].endswith(".py"))
    text = open(row["file"]).read().splitlines()[row["line"] - 1].strip()
    assert any(text[:20] in line for line in lines)
    functions = json.loads(output_of("report", "--json", "--limit", 5, "it's mine.tach"))["rows"]
    shown = section(said, "Hottest functions (self, at their hottest line)")
    assert [line.split()[0] for line in shown] == [f"{r['self_pct']:.2f}" for r in functions if r["self"]]
    assert "Busiest processes" not in said
    report, page = commands(said)
    assert report == ["report", "--annotate", "it's mine.tach"] and page == ["open", "it's mine.tach"]
    # No line of what is said is too wide for a terminal, but for names and paths.
    assert max(len(l) for l in said.splitlines() if "/" not in l and "'" not in l) <= 80


def test_all_processes_have_the_busiest(busy, out):
    said = succeeded(tachbpf("-a", "-d", "1", "-o", out / "x")).stderr
    shown = [line.split()[:3] for line in section(said, "Busiest processes (of all samples)")]
    rows = json.loads(output_of("report", "--json", "--by", "process", "--limit", 5, out / "x"))["rows"]
    assert len(shown) == len([r for r in rows if r["self"]])
    for (share, _, pid), row in zip(shown, rows):
        assert share == f"{row['self_pct']:.2f}" and (row["pid"] is None or pid == str(row["pid"]))
    assert section(said, "Hottest lines (of all samples)")


def test_what_was_counted_comes_after_the_answer(busy, out):
    said = succeeded(tachbpf("-p", busy.pid, "-d", "0.5", "-o", out / "x.tach")).stderr
    assert re.search(r"^\d+ samples?, \d+ lost; tachbpf itself used [\d.]+ % of a CPU$", said, re.M)
    assert said.index("Hottest lines") < said.index(" lost; ") < said.index("Next")
    assert "ticks" not in said and "_" not in re.sub(r"\S*/\S*|test_\S+", "", said.partition("Hottest")[0])


def test_the_summary_says_what_percentages_are_of(busy, out):
    said = succeeded(tachbpf("-v", "-p", busy.pid, "-d", "0.5", "--self-time", "-o", out / "x.tach")).stderr
    rows = next(part for part in said.split("\n\n") if part.startswith("  CPU time")).splitlines()
    for name in ("CPU time", "samples", "lost", "tachbpf itself"):
        assert any(re.match(rf"  {name} +[\d.]+", row) for row in rows), said
    shares = [row for row in rows if " % of " in row]
    assert len(shares) >= 2 and len({row.index(" % of ") for row in shares}) == 1
    counts = [re.match(r"  [a-z ]+? +\d+(?=$|  )", row) for row in rows]
    assert len({m.end() for m in counts if m}) == 1
    assert max(map(len, rows)) <= 80


BURN = """
import time
def %s():
    end = time.process_time() + 0.3
    while time.process_time() < end: pass
%s()
"""
THEN_EXEC = "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])\n"
THEN_CHILD = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', sys.argv[1]])\n"


@pytest.mark.parametrize("more,there", [
    ([], ["app.tach"]),
    ([THEN_CHILD, BURN % ("child", "child")], ["app.tach", "app.tach.d"]),
    ([THEN_EXEC, BURN % ("later", "later")], ["app.tach", "app.1.tach"]),
    (None, ["app.tach.d"])], ids=["alone", "children", "exec", "no Python"])
def test_all_files_of_a_command_are_shown(python, out, monkeypatch, more, there):
    """Its own, those after an exec, and the directory of its children: what there is of them."""
    monkeypatch.chdir(out)
    words = BURN % ("own", "own")
    names = {"own"}
    if more is None:
        (out / "run.sh").write_text('"$@"\ntrue\n')
        command = ["sh", out / "run.sh", *python.command("-c", words)]
    else:
        command = python.command("-c", words + "".join(more[:1]), *more[1:])
        names |= {name for name in ("child", "later") if any(f"def {name}" in m for m in more)}
    said = succeeded(tachbpf("-r", "999", "--split", "all", "-o", "app.tach", "--no-source", "--html",
                             "page.html", "--", *command)).stderr
    assert {p for p in os.listdir(out) if not p.endswith((".json", ".html", ".sh"))} == set(there)
    hot = {line.split()[2] for line in section(said, "Hottest functions (self, at their hottest line)")}
    assert names <= hot, said
    proposed, = commands(said)
    assert proposed == ["report", "--annotate", *there]
    # What there is, and nothing else: not "app.tach" if there is only app.tach.d/.
    assert f"\n{', '.join(there)}: " in f"\n{said}", said
    output_of("replay", *there, "--format", "flamegraph", "--no-source", "-o", "same.html")
    assert (out / "page.html").read_bytes() == (out / "same.html").read_bytes()


def test_a_directory_beside_a_file_is_not_its_own(busy, out, monkeypatch):
    """FILE.d of a command, when the file is a process'."""
    monkeypatch.chdir(out)
    (out / "x.tach.d").mkdir()
    (out / "x.tach.d" / "1-old.tach").write_text("something else")
    said = succeeded(tachbpf("-p", busy.pid, "-d", "0.5", "-o", "x.tach")).stderr
    assert [words[-1] for words in commands(said)] == ["x.tach"] * 2 and "x.tach.d" not in said


def test_of_nothing_there_is_nothing_to_show(out):
    finished = tachbpf("-o", out / "x.tach", "--html", out / "x.html", "--open", "--", "true")
    assert finished.returncode == 3, repr(finished)
    assert not os.listdir(out)
    for words in ("Next", "Hottest", "flame graph", "cannot"):
        assert words not in finished.stderr, repr(finished)


@pytest.mark.parametrize("option", ["-q", "--json"])
def test_nothing_is_shown_to_programs(busy, out, option):
    finished = succeeded(tachbpf("-p", busy.pid, "-d", "0.5", option, "-o", out / "x.tach"))
    assert "Hottest" not in finished.stderr + finished.stdout and "Next" not in finished.stderr


def test_without_samples_there_is_no_page(python, scratch, out):
    with Target(python, scratch, "shares=600") as sleeper:      # it waits to be let go
        said = succeeded(tachbpf("-p", sleeper.pid, "-d", "0.3", "-o", out / "x.tach", "--html",
                                 out / "x.html")).stderr
    assert "no flame graph was written" in said and "Next" not in said
    assert sorted(os.listdir(out)) == ["x.tach", "x.tach.json"]


# ---- --html, --open ----

def test_html_is_what_replay_writes(busy, out):
    """Apart from source text: convert also finds files of this machine, which record does not open."""
    said = succeeded(tachbpf("-p", busy.pid, "-d", "0.5", "-o", out / "x.tach", "--no-source", "--html",
                             out / "x.html")).stderr
    output_of("replay", out / "x.tach", "--format", "flamegraph", "--no-source", "-o", out / "same.html")
    assert (out / "x.html").read_bytes() == (out / "same.html").read_bytes()
    assert f"flame graph: {out / 'x.html'}" in said
    # The flame graph is there: only the report is proposed.
    assert [words[0] for words in commands(said)] == ["report"]


def test_html_belongs_to_the_user_behind_sudo(busy, out):
    os.chown(out, NOBODY, NOBODY)
    user = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
    succeeded(tachbpf("-q", "-p", busy.pid, "-d", "0.5", "-o", out / "x.tach", "--html", out / "x.html",
                      env=user))
    assert (out / "x.html").stat().st_uid == NOBODY
    (out / "link.html").symlink_to(out / "x.tach")
    finished = tachbpf("-p", busy.pid, "-d", "0.5", "-o", out / "y.tach", "--html", out / "link.html",
                       env=user)
    assert finished.returncode == 1 and "link" in finished.stderr


def test_html_that_cannot_be_written_is_refused_before_the_recording(busy, out):
    finished = tachbpf("-p", busy.pid, "-o", out / "x.tach", "--html", out / "no" / "x.html")
    assert finished.returncode == 1 and "no/x.html" in finished.stderr
    assert not list(out.iterdir())
    finished = tachbpf("-p", busy.pid, "--open")
    assert finished.returncode == 2 and "--html" in finished.stderr


def record_and_open(busy, out, desktop, **env):
    env = {**ENV, **env}
    with Recording(["-p", busy.pid, "-d", "0.5", "-o", out / "x.tach", "--html", out / "x.html", "--open"],
                   prefix=desktop, env=env) as recording:
        return succeeded(recording.wait())


def test_open_shows_it_as_the_user_behind_sudo(busy, out, desktop):
    os.chown(out, NOBODY, NOBODY)
    finished = record_and_open(busy, out, desktop, SECRET="root's", LD_LIBRARY_PATH="/root/lib",
                               PATH=f"/root/bin:{os.environ['PATH']}", LANG="C.UTF-8")
    assert "cannot open" not in finished.stderr
    uid, gid, groups, where, path, begin, *caps, null0, null1, null2, fds = opened(out)
    assert (uid, gid, groups, where) == (str(NOBODY), str(NOBODY), str(NOBODY), "/")
    assert path == str(out / "x.html") and begin == "<!DOCTYPE html>"
    for line in caps:
        name, bits = line.split()
        assert name == "CapBnd:" or int(bits, 16) == 0, line
    assert null0 == "/dev/null" and null2 == "/dev/null" and int(fds) <= 5 and null1
    env = dict(l.split("=", 1) for l in (out / "env").read_text().splitlines() if "=" in l)
    assert env["DISPLAY"] == ":7" and env["USER"] == "nobody" and env["LANG"] == "C.UTF-8"
    assert env["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert not {"SECRET", "LD_LIBRARY_PATH", "SUDO_UID"} & set(env)


@pytest.mark.parametrize("env,why", [
    ({"SUDO_UID": "", "SUDO_GID": ""}, "sudo was not used"),
    ({"SUDO_UID": "0", "SUDO_GID": "0"}, "sudo was not used"),
    ({"SUDO_UID": "4294967000"}, "is unknown"),
    ({"DISPLAY": ""}, "no display")])
def test_open_without_a_user_or_a_display_says_so(busy, out, desktop, env, why):
    finished = record_and_open(busy, out, desktop, **env)
    assert why in finished.stderr and "cannot open" in finished.stderr
    assert not (out / "opened").exists() and (out / "x.html").exists()


def test_an_xdg_open_that_cannot_be_run_is_an_error(busy, out, desktop):
    (out / "xdg-open").chmod(0o644)
    finished = record_and_open(busy, out, desktop)
    assert "cannot run xdg-open" in finished.stderr and (out / "x.html").exists()


def test_open_without_xdg_open_says_so(busy, out, desktop):
    # execve() answers ENOENT, as if there were no file
    (out / "xdg-open").write_text(f"#!{out}/absent\n")
    finished = record_and_open(busy, out, desktop)
    assert "xdg-open not found" in finished.stderr and (out / "x.html").exists()
