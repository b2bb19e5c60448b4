# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A profile's samples, stacks and tree agree with each other and with the exports; errors say what is wrong."""
import collections
import csv
import io
import json
import os
import subprocess
from pathlib import Path

import pytest
import tachbpf

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
CPU = GOLDEN / "tach/cpu_raw.bin"


@pytest.fixture(scope="module")
def cpu():
    return tachbpf.read(CPU)


def test_meta(cpu):
    assert (cpu.meta.mode, cpu.meta.unit, cpu.meta.timed) == ("cpu", "samples", True)
    assert cpu.meta.python == "3.15.2" and cpu.meta.interval == 0.002
    assert cpu.paths == [str(CPU)]


def test_samples_are_a_sequence(cpu):
    every = list(cpu.samples)
    assert len(every) == len(cpu.samples) == cpu.weight
    assert cpu.samples[0] == every[0] and cpu.samples[-1] == every[-1]
    assert list(cpu.samples[10:20:3]) == every[10:20:3] and len(cpu.samples[10:20:3]) == 4
    assert every[5] in cpu.samples
    with pytest.raises(IndexError):
        cpu.samples[len(every)]
    before = collections.defaultdict(float)
    for sample in every:
        assert sample.time >= before[sample.thread.id]
        before[sample.thread.id] = sample.time
    assert 0 <= max(before.values()) <= cpu.meta.duration + 0.1


def test_samples_equal_csv(cpu, program):
    """The same threads, states and weights as in the program's own table."""
    out = subprocess.run([program, "convert", "--format", "csv", "-o", "-", str(CPU)], stdout=subprocess.PIPE, check=True).stdout
    expected = collections.Counter()
    for row in csv.DictReader(io.StringIO(out.decode())):
        expected[int(row["thread"]), frozenset(row["status"].split("+")) - {"none"}] += int(row["weight"])
    found = collections.Counter()
    for sample in cpu.samples:
        found[sample.thread.id, sample.status] += sample.weight
    assert found == expected


def test_stacks(cpu):
    stacks = cpu.stacks()
    assert sum(s.weight for s in stacks) == cpu.weight
    assert [s.weight for s in stacks] == sorted((s.weight for s in stacks), reverse=True)
    assert {s.frames for s in stacks} == {s.stack for s in cpu.samples}


def test_tree(cpu):
    tree = cpu.tree()
    assert tree.total == cpu.weight == sum(node.own for _, node in tree.walk())
    for _, node in tree.walk():
        assert node.total == node.own + sum(child.total for child in node.children)
        assert [c.total for c in node.children] == sorted((c.total for c in node.children), reverse=True)
    deepest = max(depth for depth, _ in tree.walk())
    assert deepest == max(len(s.frames) for s in cpu.stacks())


def test_shown(cpu):
    hottest = cpu.functions()[0]
    assert hottest.function in repr(cpu) and "467 samples" in repr(cpu)
    assert hottest.function in cpu._repr_html_() and "<table>" in cpu._repr_html_()


def test_html_is_escaped(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a.py:<script>alert(1)</script>:3 5\n")
    shown = tachbpf.read(path)._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown


def test_without_times(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a.py:f:3;a.py:g:5 2\na.py:f:4 1\n")
    p = tachbpf.read(path)
    assert [s.time for s in p.samples] == [None] * len(p.samples) and p.weight == 3
    assert {s.stack[0].function for s in p.samples} == {"f", "g"}


def test_directory(tmp_path, program):
    """A recording's directory: names and causes of losses from its session.json."""
    (tmp_path / "12-app.tach").write_bytes(CPU.read_bytes())
    (tmp_path / "13-worker.tach").write_bytes(CPU.read_bytes())
    (tmp_path / "session.json").write_text(json.dumps({"processes": [
        {"file": f"{name}.tach", "pid": int(name[:2]), "comm": name[3:], "lost": {"ring_full": 7, "other": i}}
        for i, name in enumerate(("12-app", "13-worker"))]}))
    p = tachbpf.read(tmp_path)
    assert [m.losses for m in p.processes] == [{"ring_full": 7}, {"ring_full": 7, "other": 1}]
    assert p.meta.losses == {"ring_full": 14, "other": 1}
    assert {(m.pid, m.comm) for m in p.processes} == {(12, "app"), (13, "worker")}
    assert p.meta.pid is None and p.meta.mode == "cpu"
    assert tachbpf.read(tmp_path, process="wor*").weight * 2 == p.weight
    assert tachbpf.read(tmp_path, process=[12, 13]).weight == p.weight


def test_damaged_file(tmp_path, program):
    """What is complete is read, as far as report reads it, and a warning says what is not."""
    path, data = tmp_path / "x.tach", bytearray(CPU.read_bytes())
    for at in range(64, len(data) - 64, 16):        # until it hits samples, and not tables
        path.write_bytes(data[:at] + b"\xff\xff\xff\xff" + data[at + 4:])
        done = subprocess.run([program, "report", "--json", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode and done.stdout and json.loads(done.stdout)["samples"]:
            break
    with pytest.warns(tachbpf.ProfileWarning, match="x.tach"):
        p = tachbpf.read(path)
    assert 0 < p.weight == json.loads(done.stdout)["samples"] < 467


def test_cut_file(tmp_path):
    path = tmp_path / "cut.tach"
    path.write_bytes(CPU.read_bytes()[:-40])
    with pytest.raises(tachbpf.Error, match="cut.tach.*truncated"):
        tachbpf.read(path)


def test_one_of_several_is_missing(tmp_path):
    with pytest.warns(tachbpf.ProfileWarning, match="none.tach"):
        assert tachbpf.read([CPU, tmp_path / "none.tach"]).weight == 467


def test_errors(tmp_path, monkeypatch):
    with pytest.raises(tachbpf.Error, match="cannot open .*none.tach"):
        tachbpf.read(tmp_path / "none.tach")
    (tmp_path / "x").write_text("this is not a profile\n\0\1\2")
    with pytest.raises(tachbpf.Error, match="'.*/x'"):
        tachbpf.read(tmp_path / "x")
    with pytest.raises(tachbpf.Error, match="no file or directory is named"):
        tachbpf.read([])
    with pytest.raises(tachbpf.Error, match="--process"):
        tachbpf.read(CPU, process="nobody")
    monkeypatch.setenv("TACHBPF", str(tmp_path / "missing"))
    with pytest.raises(tachbpf.Error, match="missing"):
        tachbpf.read(CPU)


def test_a_name_like_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.link(CPU, "--json") if os.stat(CPU).st_dev == os.stat(".").st_dev else Path("--json").write_bytes(CPU.read_bytes())
    assert tachbpf.read("--json").weight == 467
