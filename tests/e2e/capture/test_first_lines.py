# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where functions are listed, they have the line at which they begin, whatever was sampled of them."""
import ast
import json
import signal
import time

import pytest

from command import good
from paths import TESTS
from pprof_decode import Pprof
from present import need
from processes import TIMEOUT
from recording import Recording, succeeded, tachbpf
from target import Target

SOURCE = TESTS / "e2e" / "targets" / "shares.py"
BURNS = ("burn_sixty", "burn_thirty", "burn_ten")
FIRST = {node.name: node.lineno for node in ast.parse(SOURCE.read_text()).body
         if isinstance(node, ast.FunctionDef) and node.name in BURNS}


@pytest.fixture(scope="module", params=["system-3.11", "sid-3.15"])
def recorded(request, scratch):
    """A recording, and one of the same process that was killed and recovered."""
    interpreter = need(request.param)
    whole, killed = (scratch / f"{name}-{interpreter.name}.tach" for name in ("whole", "killed"))
    with Target(interpreter, scratch, "shares=600") as target:
        target.go()
        succeeded(tachbpf("-p", target.pid, "-d", 1.5, "-r", 999, "-o", whole))
        with Recording(["-p", target.pid, "-r", 999, "-o", killed]) as recording:
            recording.wait_recording()
            until_flushed(killed)
            recording.process.send_signal(signal.SIGKILL)
            recording.process.wait(30)
    good("recover", killed)
    return whole, killed


def until_flushed(path):
    """Two flushes have been written behind the header: names of both are in the journal."""
    end = time.monotonic() + TIMEOUT
    sizes = set()
    while len(sizes) < 2:
        assert time.monotonic() < end, "nothing is flushed"
        time.sleep(0.05)
        if path.exists() and path.stat().st_size > 64:
            sizes.add(path.stat().st_size)


def lines(path):
    """{function: line} of the report, of those that burn."""
    rows = json.loads(good("report", "--json", "--limit", 0, path))["rows"]
    return {r["function"]: r["line"] for r in rows if r["function"] in BURNS}


def test_report_has_them(recorded):
    for path in recorded:
        assert lines(path) == FIRST
    # by line it is the line
    rows = json.loads(good("report", "--json", "--limit", 0, "--by", "line", recorded[0]))["rows"]
    assert any(r["line"] > FIRST[r["function"]] for r in rows if r["function"] in BURNS)


@pytest.mark.parametrize("layout", ["release", "draft1", "draft2"])
def test_they_survive_what_writes_files(recorded, tmp_path, layout):
    whole, _ = recorded
    as_layout = ("--layout", layout)
    good("convert", whole, "-o", tmp_path / "converted.tach", *as_layout)
    good("split", whole, "-o", tmp_path / "split", "--by", "time", "--every", "0.5", *as_layout)
    pieces = sorted((tmp_path / "split").glob("*.tach"))
    assert len(pieces) > 1
    good("merge", *pieces, "-o", tmp_path / "merged.tach", *as_layout)
    for path in (tmp_path / "converted.tach", tmp_path / "merged.tach"):
        assert lines(path) == FIRST
        assert "checksum right" in good("info", "--verify", path)


def test_cpython_does_not_see_them(recorded, oracle):
    for path, profile in zip(recorded, oracle.load(*recorded)):
        assert profile.info["sample_count"] == profile.replayed == len(profile.samples)
        names = {f.func for s in profile.samples for f in s.frames}
        assert set(BURNS) <= names and not any("tachbpf" in n for n in names)


def test_exports_have_them(recorded, tmp_path):
    whole, _ = recorded
    good("replay", whole, "--format", "pprof", "-o", tmp_path / "x.pb.gz")
    pprof = Pprof(tmp_path / "x.pb.gz")
    start_lines = {name: pprof.first_lines[i] for i, (_, name, _) in pprof.functions.items()}
    assert {n: start_lines[n] for n in BURNS} == FIRST
    speedscope = json.loads(good("replay", whole, "--format", "speedscope"))
    assert {f["name"]: f["line"] for f in speedscope["shared"]["frames"] if f["name"] in BURNS} == FIRST
    gecko = json.loads(good("replay", whole, "--format", "gecko"))
    strings = gecko["shared"]["stringArray"]
    for thread in gecko["threads"]:
        table = thread["funcTable"]
        found = {strings[n]: at for n, at in zip(table["name"], table["lineNumber"])}
        assert all(found.get(n, FIRST[n]) == FIRST[n] for n in BURNS)
