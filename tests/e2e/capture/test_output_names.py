# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""record -o NAME: the name's ending is the format, and what it cannot be is refused before anything is recorded."""
import base64
import json
import os
import re
import sys
import xml.etree.ElementTree as xml
import zlib

import pytest

from desktop import NOBODY
from pprof_decode import Pprof
from recording import succeeded, tachbpf
from target import Target

BURN = """
import time
def burn():
    end = time.process_time() + 0.2
    while time.process_time() < end: pass
burn()
"""


def record(path, *options, command=(sys.executable, "-c", BURN)):
    return tachbpf("-r", "999", "-o", path, *options, "--", *command)


def names_of_svg(path):
    root = xml.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return {e.text.split(" (")[0] for e in root.iter("{http://www.w3.org/2000/svg}title")}


def names_of_page(path):
    text = path.read_text()
    assert text.startswith("<!DOCTYPE html>")
    data = re.search(r'id="data">\n(.*?)\n</script>', text, re.S)[1]
    return {"burn"} if b"burn" in zlib.decompress(base64.b64decode(data)) else set()


def names_of_speedscope(path):
    data = json.loads(path.read_text())
    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert sum(sum(p.get("weights", ())) for p in data["profiles"]) > 0
    return {f["name"] for f in data["shared"]["frames"]}


def names_of_pprof(path):
    decoded = Pprof(path)
    assert sum(values[0] for _, values, _ in decoded.samples) > 0
    return {f[0].split(".")[-1] for stack, _, _ in decoded.samples for f in stack}


def names_of_folded(path):
    lines = [line.rpartition(" ") for line in path.read_text().splitlines()]
    assert all(int(count) > 0 for _, _, count in lines)
    return {word.split(":")[1] for stack, _, _ in lines for word in stack.split(";") if ":" in word}


@pytest.mark.parametrize("name,read,then", [
    ("profile.svg", names_of_svg, "open profile.svg in a browser"),
    ("profile.html", names_of_page, "open profile.html in a browser"),
    ("profile.json", names_of_speedscope, "tachbpf report profile.json"),
    ("profile.pb.gz", names_of_pprof, "go tool pprof profile.pb.gz"),
    ("profile.txt", names_of_folded, "tachbpf report profile.txt")])
def test_the_name_is_the_format(out, monkeypatch, name, read, then):
    """And there is nothing else afterwards."""
    monkeypatch.chdir(out)
    said = succeeded(record(name)).stderr
    assert os.listdir() == [name] and "burn" in read(out / name)
    assert f"\n{name}: " in f"\n{said}" and f"\n  {then}\n" in said.partition("\nNext")[2], said
    assert ".recording" not in said


def test_memory_has_pages_too(out):
    succeeded(record(out / "x.svg", "-m", "mem", "--every", "4096",
                     command=(sys.executable, "-c", "x = [bytes(99999) for _ in range(200)]")))
    assert "<module>" in names_of_svg(out / "x.svg") and os.listdir(out) == ["x.svg"]


def test_a_file_that_exists_is_replaced_by_force_only(out):
    (out / "x.txt").write_text("mine")
    finished = record(out / "x.txt")
    assert finished.returncode == 1 and "--force" in finished.stderr, repr(finished)
    assert (out / "x.txt").read_text() == "mine" and os.listdir(out) == ["x.txt"]
    summary = succeeded(record(out / "x.txt", "--force", "--json")).summary
    assert summary["output"] == str(out / "x.txt") and summary["samples"] > 0
    assert "burn" in names_of_folded(out / "x.txt") and os.listdir(out) == ["x.txt"]


def test_both_pages(out):
    succeeded(record(out / "x.svg", "--html", out / "x.html"))
    assert sorted(os.listdir(out)) == ["x.html", "x.svg"]
    assert "burn" in names_of_svg(out / "x.svg") & names_of_page(out / "x.html")


def test_what_was_recorded_is_kept_if_it_cannot_be_converted(out, monkeypatch):
    """Here the name is taken meanwhile."""
    monkeypatch.chdir(out)
    finished = record("x.svg", command=("sh", "-c", f"mkdir x.svg; exec '{sys.executable}' -c '{BURN}'"))
    assert finished.returncode == 1 and "the recording is kept in 'x.svg.recording'" in finished.stderr
    assert sorted(os.listdir()) == ["x.svg", "x.svg.recording"]
    assert "burn" in succeeded(tachbpf("report", "x.svg.recording")).stdout


def test_of_nothing_nothing_is_left(python, scratch, out):
    finished = tachbpf("-o", out / "x.svg", "--", "true")
    assert finished.returncode == 3 and not os.listdir(out), repr(finished)
    with Target(python, scratch, "shares=600") as sleeper:      # it waits to be let go
        said = succeeded(tachbpf("-p", sleeper.pid, "-d", "0.3", "-o", out / "x.svg")).stderr
    assert f"no svg was written to '{out / 'x.svg'}'" in said and not os.listdir(out)


@pytest.mark.parametrize("argv,words", [
    (["-o", "x.csv.zip"], ["'x.csv.zip'", "tachbpf convert", ".svg", ".pb.gz"]),
    (["-m", "mem", "-o", "x.pstats"], ["'x.pstats'", "bytes of memory", "FILE.mlyze"]),
    (["-o", "x.mlyze"], ["'x.mlyze'", "--mode mem"]),
    (["--keep", "9s", "-o", "x.svg"], ["'x.svg'", "--keep", "tachbpf convert"])])
def test_what_cannot_be_is_refused_before_the_recording(out, monkeypatch, argv, words):
    monkeypatch.chdir(out)
    finished = tachbpf(*argv, "--", "touch", "ran")
    assert finished.returncode == 2 and all(word in finished.stderr for word in words), repr(finished)
    assert not os.listdir()


def test_it_belongs_to_the_user_behind_sudo(out):
    os.chown(out, NOBODY, NOBODY)
    user = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
    succeeded(tachbpf("-q", "-o", out / "x.svg", "--", sys.executable, "-c", BURN, env=user))
    assert (out / "x.svg").stat().st_uid == NOBODY and os.listdir(out) == ["x.svg"]
    (out / "link.svg").symlink_to(out / "x.svg")
    finished = tachbpf("-o", out / "link.svg", "--", sys.executable, "-c", BURN, env=user)
    assert finished.returncode == 1 and "link" in finished.stderr and not list(out.glob("*.recording"))
