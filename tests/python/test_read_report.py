# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What read() adds up is what `tachbpf report --json` and `tachbpf diff --json` say, for every profile of tests/golden."""
import json
import subprocess
import warnings
from pathlib import Path

import pytest
import tachbpf

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
FORMATS = ("tach", "collapsed", "speedscope", "gperftools", "mlyze", "pprof", "otlp")
PROFILES = sorted(p for name in FORMATS for p in (GOLDEN / name).iterdir() if p.is_file() and p.suffix != ".txt")
OPTIONS = [(), ("native",), ("detail",), ("native", "detail")]


def report(program, *arguments):
    """report's JSON, or None with its complaint."""
    done = subprocess.run([program, "report", "--json", "--limit", "0", *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    return (json.loads(done.stdout) if done.stdout else None), done.stderr.decode()


def as_json(row):
    return {"function": row.function, "file": row.file, "kind": row.kind, "line": row.line, "total": row.total,
            "total_pct": pytest.approx(row.total_pct), "self": row.own, "self_pct": pytest.approx(row.own_pct)}


def read(*paths, **options):
    """A damaged file is read as far as report reads it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tachbpf.ProfileWarning)
        return tachbpf.read(paths, **options)


@pytest.mark.parametrize("path", PROFILES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_equal_to_report(program, path):
    expected, complaint = report(program, path)
    if expected is None:
        with pytest.raises(tachbpf.Error) as raised:
            read(path)
        assert str(raised.value).splitlines()[0] in complaint
        return
    p = read(path)
    assert (p.weight, p.unit) == (expected["samples"], expected["unit"])
    assert p.meta.mode == expected["mode"] or (p.meta.mode, expected["mode"]) == (None, "mixed")
    if expected["duration_s"] is not None and p.meta.duration is not None:
        assert p.meta.duration == pytest.approx(expected["duration_s"])
    for words in OPTIONS:
        rows, _ = report(program, path, *(f"--{word}" for word in words))
        assert [as_json(row) for row in p.functions(**dict.fromkeys(words, True))] == rows["rows"]
        rows, _ = report(program, path, "--by", "line", *(f"--{word}" for word in words))
        assert [as_json(row) for row in p.lines(**dict.fromkeys(words, True))] == rows["rows"]


def test_most_can_be_read(program):
    """The comparison above is of profiles, not of refusals."""
    assert sum(report(program, path)[0] is not None for path in PROFILES) >= 30


@pytest.mark.parametrize("value", ["live", "allocated", "peak"])
@pytest.mark.parametrize("path", sorted(GOLDEN.glob("mlyze/*.mlyze")), ids=lambda p: p.name)
def test_memory_values(program, path, value):
    expected, _ = report(program, path, "--value", value)
    p = read(path, value=value)
    assert p.unit == expected["unit"] == "bytes" and p.weight == expected["samples"]
    assert [as_json(row) for row in p.functions()] == expected["rows"]


def test_several_paths(program):
    paths = [GOLDEN / "tach/cpu_raw.bin", GOLDEN / "tach/wall_zstd.bin"]
    expected, _ = report(program, *paths)
    p = read(*paths)
    assert [as_json(row) for row in p.functions()] == expected["rows"]
    assert len(p.processes) == 2 and p.meta.mode is None and {m.mode for m in p.processes} == {"cpu", "wall"}


FILTERS = [({"since": 0.1}, ["--from", "0.1"]), ({"since": 0.1, "until": 0.3}, ["--from", "0.1", "--to", "0.3"]),
           ({"status": "on-cpu"}, ["--status", "on-cpu"]), ({"status": ["on-cpu", "no-main"]}, ["--status", "on-cpu,no-main"]),
           ({"focus": "Thread"}, ["--focus", "Thread"]), ({"ignore": "import"}, ["--ignore", "import"])]


@pytest.mark.parametrize("options, arguments", FILTERS, ids=str)
def test_filters(program, options, arguments):
    path = GOLDEN / "tach/cpu_raw.bin"
    expected, _ = report(program, path, *arguments)
    p = read(path, **options)
    assert p.weight == expected["samples"] == sum(s.weight for s in p.samples)
    assert [as_json(row) for row in p.functions()] == expected["rows"]


def test_threads(program):
    path = GOLDEN / "tach/native_opcodes.bin"
    expected, _ = report(program, path, "--by", "thread")
    p = read(path)
    weights = dict.fromkeys(p.threads, 0)
    for sample in p.samples:
        weights[sample.thread] += sample.weight
    assert {(t.id, t.name, t.main, w) for t, w in weights.items()} == {
        (r["thread"], r["thread_name"], r["main"], r["self"]) for r in expected["rows"]}
    one = p.threads[0]
    assert read(path, thread=one.id).weight == weights[one]


def test_processes_in_one_file(program):
    """A file of several processes, with their frames at the roots: they are processes, and no functions."""
    path = GOLDEN / "speedscope/processes.json"
    expected, _ = report(program, path, "--by", "process")
    p = read(path)
    weights = dict.fromkeys((m.pid, m.comm) for m in p.processes)
    assert set(weights) == {(r["pid"], r["comm"]) for r in expected["rows"]}
    pid = p.processes[0].pid
    assert read(path, process=pid).weight == sum(r["self"] for r in expected["rows"] if r["pid"] == pid)


@pytest.mark.parametrize("names", [("cpu_raw", "wall_zstd"), ("native_opcodes", "wall_zstd"), ("wall_zstd", "wall_zstd")])
def test_diff(cli, names):
    paths = [GOLDEN / f"tach/{name}.bin" for name in names]
    expected = cli("diff", "--json", "--force", "--limit", "0", *paths)["rows"]
    changes = read(paths[0]).diff(read(paths[1]))
    assert len(changes) == len(expected)
    by_name = {(c.kind, c.file, c.function): c for c in changes}
    for row in expected:
        change = by_name[row["kind"], row["file"], row["function"]]
        assert change.line == row["line"]
        assert change.own_delta == pytest.approx(row["self_delta"]) and change.total_delta == pytest.approx(row["total_delta"])
        assert change.own_noise == pytest.approx(row["self_noise"])
        assert ((change.before.own if change.before else 0), (change.after.own if change.after else 0)) == (
            row["a"]["self"], row["b"]["self"])


def test_diff_of_units():
    with pytest.raises(tachbpf.Error, match="counts samples, the other bytes"):
        read(GOLDEN / "tach/cpu_raw.bin").diff(read(GOLDEN / "mlyze/basic.mlyze"))
