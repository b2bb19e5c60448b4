# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command line as people meet it: help, typing errors, colours, the pager, 80 columns."""
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from captures import GOLDEN
from command import good, on_terminal, raw_terminal, refused, run
from paths import TESTS, binary
from processes import TIMEOUT

COMMANDS = ("record", "top", "dump", "heap", "info", "report", "convert", "open", "mem", "merge", "split", "diff", "gil",
            "recover", "doctor", "ps")
CAPTURE = GOLDEN / "cpu_raw.bin"
MEMORY = TESTS / "golden" / "mlyze" / "grown.mlyze"


# ---- help, and what was meant ----

@pytest.mark.parametrize("argv,words", [
    (["reprot", "x"], ["'reprot'", "did you mean tachbpf report?", "tachbpf -- reprot"]),
    (["flamegraf", "x"], ["'flamegraf'"]),
    (["help", "recrod"], ["did you mean tachbpf help record?"]),
    (["help", "xyzzy"], ["'xyzzy'", "tachbpf help lists all"]),
    (["-a", "--durration", "3"], ["'--durration'", "did you mean --duration?", "record --help"]),
    (["report", "--limt=3", "x"], ["'--limt'", "did you mean --limit?"]),
    (["-a", "--dur", "3"], ["did you mean --duration?"]),
    (["-a", "--code-cach", "3"], ["'--code-cach'; see: tachbpf record --help"]),   # an old name
    (["replay", "--format", "flamgraph", "x"], ["did you mean flamegraph?", "convert --format help"]),
    (["diff", "--frobnicate", "a", "b"], ["'--frobnicate'; see: tachbpf diff --help"]),
])
def test_did_you_mean(argv, words):
    done = run(*argv)
    refused(done, *words, status=2)
    assert not done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command):
    text = good("help", command)
    assert text == good(command, "--help") and f"tachbpf {'[record]' if command == 'record' else command}" in text
    assert max(map(len, text.splitlines())) <= 80


def test_replay_is_the_same_command_as_convert():
    assert good("help", "replay") == good("replay", "--help") == good("help", "convert")
    assert "Also called replay." in good("help", "convert") and "tachbpf replay" not in good("--help")
    assert good("replay", "--format", "help") == good("convert", "--format", "help")


def test_help_without_a_command_is_the_overview():
    assert good("help") == good("--help") == good("help", "help")
    assert "tachbpf help COMMAND" in good("help")


def test_help_lists_the_formats():
    listed = re.findall(r"^(\S+)", good("convert", "--format", "help"), re.M)
    text = good("help", "convert")
    assert len(listed) > 10 and {"tach", "svg", "flamegraph"} <= set(listed)
    section = text.split("Formats (--format FORMAT):\n")[1].split("\n\n")[0]
    assert re.findall(r"^  (\S+)", section, re.M) == listed


@pytest.mark.parametrize("command", ["record", "convert", "merge", "split"])
def test_rare_options_come_last(command):
    groups = re.split(r"^(\S.*):$", good("help", command), flags=re.M)
    names, texts = groups[1::2], groups[2::2]
    groups = [(n, t) for n, t in zip(names, texts) if re.search(r"^ .*--\w", t, re.M) and n != "Examples"]
    rare = set(re.findall(r"(--[a-z-]+)", groups[-1][1]))
    assert groups[-1][0] == "Advanced" and {"--layout", "--compression"} <= rare
    if command == "record":
        assert {"--self-time", "--no-sample-limit"} <= rare
    for _, text in groups[:-1]:
        assert not rare & set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, re.M))


# ---- 80 columns ----

@pytest.fixture
def wide(tmp_path):
    """A directory whose names are all long."""
    long = "a-rather-long-name-of-a-worker-" * 4
    shutil.copy(CAPTURE, tmp_path / f"12-{long[:40]}.tach")
    shutil.copy(GOLDEN / "wall_zstd.bin", tmp_path / "34-second.tach")
    tid = json.loads(good("info", "--json", CAPTURE))["files"][0]["threads"][0]["thread"]
    (tmp_path / "session.json").write_text(json.dumps({"processes": [
        {"file": f"12-{long[:40]}.tach", "pid": 12, "comm": long, "command": ["python3", "-m", long],
         "container": {"name": long, "id": "0" * 64}, "thread_names": {str(tid): long[:47]}}]}))
    return tmp_path


@pytest.mark.parametrize("argv", [
    ["info"], ["report"], ["report", "--by", "line"], ["report", "--by", "process"],
    ["report", "--by", "thread"], ["report", "--by", "container"], ["gil"], ["diff"], ["mem"],
    ["mem", "--by", "file"], ["mem", "--by", "function"], ["mem", "--leaks"], ["ps"], ["doctor"]], ids=" ".join)
def test_nothing_is_wider_than_80_columns(wide, monkeypatch, argv):
    monkeypatch.chdir(wide)
    shutil.copy(MEMORY, wide.with_suffix(".mlyze"))
    paths = {"ps": [], "doctor": [], "mem": [f"../{wide.name}.mlyze"], "diff": [CAPTURE, CAPTURE]}.get(argv[0], ["."])
    # Wherever this clone is, the paths in it are short.
    lines = [line.replace(str(TESTS.parent), "/clone") for line in on_terminal(80, *argv, *paths)]
    # A word that is longer than a line, as a path, can only be printed whole.
    assert not [l for l in lines if len(l) > 80 and len(l.split()) > 2]
    assert lines


def test_ps_leaves_out_columns_and_not_the_command(tmp_path):
    script = tmp_path / ("an-application-with-a-long-path-" * 2 + ".py")
    script.write_text("import sys\nprint(flush=True)\nsys.stdin.read()\n")
    python = shutil.which("python3")
    with subprocess.Popen([python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        tables = {columns: on_terminal(columns, "ps") for columns in (60, 80, 300)}
        process.stdin.close()
    for columns, lines in tables.items():
        heading = lines[0].split()
        row, = [l for l in lines if l.split()[:1] == [str(process.pid)]]
        assert max(map(len, lines)) <= columns or columns == 60, lines
        assert {"pid", "command"} <= set(heading)
        # The command has half the line at least, and begins with the script, not with the interpreter.
        shown = row[lines[0].index("command"):]
        assert len(shown) >= min(columns // 2, len(script.name)) - 1
        assert script.name.startswith(shown.rstrip("…")), row
    assert len(tables[60][0].split()) < len(tables[300][0].split())
    assert script.name in "\n".join(tables[300])
    assert {"inside", "build", "container"} <= set(tables[300][0].split())


# ---- colours ----

ESCAPE = b"\x1b["


def coloured(*argv, **env):
    return ESCAPE in raw_terminal(80, binary(), *argv, env={"TACHBPF_PAGER": "", **env})


def test_colours_are_for_terminals():
    assert coloured("report", CAPTURE) and coloured("doctor") and coloured("ps") and coloured("--help")
    assert coloured("diff", "--force", CAPTURE, GOLDEN / "deep400.bin")
    assert "\x1b" not in good("report", CAPTURE)
    assert not coloured("report", CAPTURE, NO_COLOR="1") and coloured("report", CAPTURE, NO_COLOR="")
    assert not coloured("report", CAPTURE, TERM="dumb") and not coloured("report", CAPTURE, TERM=None)
    assert not coloured("report", "--color=never", CAPTURE)
    assert "\x1b" in good("report", "--color=always", CAPTURE)
    assert coloured("report", "--color", "always", CAPTURE, NO_COLOR="1")
    refused(run("report", "--color", "blue", CAPTURE), "auto, always or never", status=2)


def test_colours_change_no_column():
    plain = on_terminal(80, "report", CAPTURE)
    shown = raw_terminal(80, binary(), "report", CAPTURE, env={"TACHBPF_PAGER": ""}).decode()
    assert re.sub(r"\x1b\[\d*m", "", shown).splitlines() == plain


# ---- the pager ----

@pytest.fixture
def home():
    """A directory of an unprivileged user's, with the program and the capture."""
    with tempfile.TemporaryDirectory() as directory:
        where = Path(directory)
        for path in (binary(), CAPTURE):
            shutil.copy(path, where)
            (where / path.name).chmod(0o755)
        where.chmod(0o777)
        yield where


@pytest.fixture
def pager(home):
    """A pager that notes that it ran, and shows everything in braces."""
    script = home / "pager"
    script.write_text(f"#!/bin/sh\nid -u > {home}/ran\necho '{{'\ncat\necho '}}'\n")
    script.chmod(0o755)
    return script


def as_nobody(home, *argv):
    """A command line for raw_terminal(): an unprivileged user's."""
    where = [home / CAPTURE.name if a == CAPTURE else a for a in argv]
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", home / "tachbpf", *where]


@pytest.mark.parametrize("env", [{"PAGER": "P"}, {"TACHBPF_PAGER": "P"},
                                 {"TACHBPF_PAGER": "P", "PAGER": "false"}])
def test_a_user_has_the_pager_of_his_choice(home, pager, env):
    env = {k: v.replace("P", str(pager)) for k, v in env.items()}
    shown = raw_terminal(100, *as_nobody(home, "report", CAPTURE), env=env).decode()
    assert (home / "ran").read_text() == "65534\n"
    assert shown.startswith("{") and shown.endswith("}\r\n") and "garbage" in shown
    # It is as wide as the terminal, and has its colours.
    assert "\x1b[31m" in shown
    text = re.sub(r"\x1b\[\d*m", "", shown)
    assert max(map(len, text.splitlines())) <= 100 and "total %" in text


@pytest.mark.parametrize("name", ["PAGER", "TACHBPF_PAGER"])
def test_root_runs_no_pager_that_the_environment_names(home, pager, name):
    env = {name: str(pager), "LESSOPEN": f"|{pager} %s", "SUDO_UID": "65534", "SUDO_GID": "65534"}
    shown = raw_terminal(100, binary(), "report", "--limit", 2, CAPTURE, env=env).decode()
    assert not (home / "ran").exists()
    assert "garbage" in shown and "{" not in shown


def test_no_pager_if_none_is_wanted(home, pager):
    for choice in ("", "cat"):
        shown = raw_terminal(100, *as_nobody(home, "report", CAPTURE),
                             env={"TACHBPF_PAGER": choice, "PAGER": str(pager)}).decode()
        assert "garbage" in shown and not (home / "ran").exists()
    with open(home / "out", "w", encoding="utf-8") as out:
        subprocess.run(list(map(str, as_nobody(home, "report", CAPTURE))), stdout=out, check=True,
                       env={**os.environ, "PAGER": str(pager)}, timeout=TIMEOUT)
    assert "garbage" in (home / "out").read_text() and not (home / "ran").exists()


def test_a_pager_that_ends_early_is_no_error(home):
    # raw_terminal() asserts the exit status.
    shown = raw_terminal(100, *as_nobody(home, "report", "--limit", 0, CAPTURE),
                         env={"PAGER": "head -1"}).decode()
    assert len(shown.splitlines()) == 1 and "samples" in shown and "error" not in shown


def test_a_pager_that_is_not_there(home):
    command = as_nobody(home, "report", CAPTURE)
    with pytest.raises(AssertionError, match="cannot run the pager 'no-such-pager'"):
        raw_terminal(100, *command, env={"PAGER": "no-such-pager"})


@pytest.mark.skipif(not shutil.which("less"), reason="less is not installed")
def test_less_is_the_pager(home):
    """Of a long report it shows the first page, and ends when the user says so; of a short one all."""
    for command in ([binary(), "info", CAPTURE], as_nobody(home, "info", CAPTURE)):
        shown = raw_terminal(100, *command, rows=50).decode()
        assert "features" in shown and " main" in shown and "6021" in shown
    shown = raw_terminal(100, binary(), "report", "--limit", 0, CAPTURE, rows=10, keys=b"q").decode()
    assert "garbage" in shown and "namedtuple" not in shown
