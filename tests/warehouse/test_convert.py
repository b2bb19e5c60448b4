# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Parquet of real recordings, by the real pyarrow: what DuckDB finds is what `tachbpf report` says."""
import json
import os
import subprocess

import pytest

from paths import binary

PROGRAM = '''
import json, time
def inner(n):
    return sum(i * i for i in range(n))
def work(n):
    json.dumps([inner(50) for _ in range(n)])
    return inner(n * 10)
end = time.process_time() + 1.5
while time.process_time() < end:
    work(300)
'''


def run(*argv, check=True, **more):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=120, check=check, **more)


@pytest.fixture(scope="module")
def convert(python):
    """A function that runs tachbpf convert with the Python that has pyarrow."""
    env = dict(os.environ, TACHBPF_PYTHON=python)
    return lambda *argv, check=True: run(binary(), "convert", "--format", "parquet", *argv, check=check, env=env)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    place = tmp_path_factory.mktemp("recording")
    (place / "shop.py").write_text(PROGRAM)
    run(binary(), "record", "-r", "499", "-o", place / "rec", "--", "/usr/bin/python3", place / "shop.py")
    return place / "rec"


def rows_of(path):
    import duckdb
    return duckdb.connect().execute("""
        WITH every AS (
          SELECT function, file, samples AS self, 0 AS total FROM read_parquet($1)
          UNION ALL
          SELECT f[1], f[2], 0, samples
          FROM (SELECT unnest(list_distinct(list_zip(functions, files))) AS f, samples FROM read_parquet($1)))
        SELECT function, file, sum(self), sum(total) FROM every WHERE function IS NOT NULL AND file <> '~'
        GROUP BY ALL""", [str(path)]).fetchall()


def test_report_says_the_same(recording, convert, tmp_path):
    convert("-o", tmp_path / "x.parquet", recording)
    report = json.loads(run(binary(), "report", "--json", "--limit", "0", recording).stdout)
    wanted = sorted((f["function"], f["file"], f["self"], f["total"]) for f in report["rows"] if f["file"] not in (None, "", "~"))
    assert len(wanted) > 5 and sorted(rows_of(tmp_path / "x.parquet")) == wanted


def test_schema(recording, convert, tmp_path):
    """The generated fleet has the columns that convert writes, in this order and of these types."""
    import generate
    import pyarrow.parquet as pq
    convert("-o", tmp_path / "x.parquet", recording)
    generate.generate(tmp_path / "rows", 280)
    generated = next((tmp_path / "rows").rglob("*.parquet"))
    assert pq.read_schema(tmp_path / "x.parquet") == pq.read_schema(generated)


def test_directory(recording, convert, tmp_path):
    """By day and service, with the rows of one file; the same input again adds nothing, and nothing else is left."""
    import duckdb
    for _ in range(2):
        convert("-o", f"{tmp_path}/fleet/", recording)
    convert("-o", tmp_path / "x.parquet", recording)
    (part,) = (p for p in (tmp_path / "fleet").rglob("*") if not p.is_dir())
    assert part.parent.name == "service=shop.py" and part.parent.parent.name.startswith("day=20")
    count = "SELECT count(*), sum(value) FROM read_parquet($1)"
    assert duckdb.execute(count, [str(part)]).fetchall() == duckdb.execute(count, [str(tmp_path / "x.parquet")]).fetchall()


def test_no_lines(recording, convert, tmp_path):
    import duckdb
    convert("--no-lines", "-o", tmp_path / "x.parquet", recording)
    assert duckdb.execute("SELECT count(line), count(*) > 3 FROM read_parquet($1)", [str(tmp_path / "x.parquet")]).fetchall() == [(0, True)]


def test_disk_full(recording, convert, tmp_path):
    """A file system of 64 KiB: one line says so, and no file is left, not even a part."""
    small = tmp_path / "small"
    small.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small)
    try:
        (small / "ballast").write_bytes(b"x" * 60 * 1024)
        for output in (small / "x.parquet", f"{small}/fleet/"):
            done = convert("-o", output, recording, check=False)
            assert done.returncode == 1 and done.stderr.count("\n") == 1 and "No space left" in done.stderr
            assert [p for p in small.rglob("*") if not p.is_dir()] == [small / "ballast"]
    finally:
        run("umount", small)
