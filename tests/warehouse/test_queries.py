# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Each query of packaging/warehouse by each engine: plain Python's answer for a small fleet, and the same answer from
all engines for 10^7 rows."""
import math
import os
import time
from pathlib import Path

import pytest

ROWS = int(os.environ.get("TACHBPF_WAREHOUSE_ROWS", 10_000_000))
SMALL_ROWS = 28_000


def parameters():
    import generate
    week = {"first_day": generate.MONDAY, "last_day": generate.LAST}
    return {
        "top_functions": {"service": "checkout", **week},
        "weeks": {"monday": generate.MONDAY},
        # a name that paths, SQL and Spark's own decoder find hard
        "versions": {"service": "O'Hara & søn", "version_a": "1.9.0", "version_b": "1.10.0",
                     "first_day": generate.FIRST, "last_day": generate.LAST},
        "cost": week,
        "regressions": {"monday": generate.MONDAY, "points": 3.0, "seconds": 5.0},
    }


def same(a, b):
    """Sums of floats differ in their last digits by order."""
    if isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b


def assert_same(found, wanted, what):
    assert len(found) == len(wanted), f"{what}: {len(found)} rows instead of {len(wanted)}"
    for i, (row, right) in enumerate(zip(found, wanted)):
        assert len(row) == len(right) and all(map(same, row, right)), f"{what}, row {i}: {row} instead of {right}"


def each_engine(directory, place):
    """(engine, {query: rows}, {query: seconds}) of each engine."""
    import engines
    for engine in engines.ENGINES:
        begin, seconds, found = time.monotonic(), {}, {}
        with engines.loaded(engine, directory, place) as opened:
            seconds["load"] = time.monotonic() - begin
            for query, given in parameters().items():
                begin = time.monotonic()
                found[query] = opened.run(query, given)
                seconds[query] = time.monotonic() - begin
        yield engine.name, found, seconds


def read_rows(directory):
    import pyarrow.parquet as pq
    return [row for path in sorted(Path(directory).glob("*/*/*.parquet")) for row in pq.ParquetFile(path).read().to_pylist()]


def test_small_fleet(python, tmp_path):
    """All that differs in the engines' dialects is in these rows: no frame, <GC>, no team, two versions, odd names."""
    import generate
    import truth
    assert generate.generate(tmp_path / "rows", SMALL_ROWS) == SMALL_ROWS
    rows = read_rows(tmp_path / "rows")
    for name, found, _ in each_engine(tmp_path / "rows", tmp_path / "engine"):
        for query, given in parameters().items():
            wanted = getattr(truth, query)(rows, **given)
            assert wanted
            assert_same(found[query], wanted, f"{name}, {query}")


def test_compact(python, tmp_path):
    """The same rows in one file a service, and in fewer bytes."""
    import duckdb
    import engines
    import generate
    generate.generate(tmp_path / "rows", SMALL_ROWS)
    place = f"day={generate.MONDAY}/*/*.parquet"
    second = next(tmp_path.glob(f"rows/{place}"))
    second.with_name("part-1.parquet").write_bytes(second.read_bytes())
    with engines.loaded(engines.DuckDB, tmp_path / "rows", tmp_path / "engine") as opened:
        opened.set(day=generate.MONDAY, compact=tmp_path / "compact")
        opened.connection.execute(engines.text("duckdb", "compact"))
    rows = [duckdb.execute("SELECT *, count(*) FROM read_parquet($1, hive_partitioning = false) GROUP BY ALL ORDER BY ALL",
                           [f"{tmp_path}/{which}/{place}"]).fetchall() for which in ("rows", "compact")]
    assert rows[0] and rows[0] == rows[1]
    assert len(list(tmp_path.glob(f"compact/{place}"))) == len(generate.SERVICES)


@pytest.mark.alone
def test_ten_million_rows(python, tmp_path):
    """The regression that was put in is found, and is the only one. The times are in docs/fleet.md."""
    import generate
    made = generate.generate(tmp_path / "rows", ROWS)
    size = sum(path.stat().st_size for path in (tmp_path / "rows").rglob("*.parquet"))
    print(f"{made} rows, {size} bytes, {size / made:.1f} bytes a row")
    first = None
    for name, found, seconds in each_engine(tmp_path / "rows", tmp_path / "engine"):
        print(name, {query: round(s, 2) for query, s in seconds.items()})
        first = first or found
        for query, rows in found.items():
            assert_same(rows, first[query], f"{name}, {query}")
    (regression,) = first["regressions"]
    assert regression[:3] == ("checkout", *generate.SLOWER)
