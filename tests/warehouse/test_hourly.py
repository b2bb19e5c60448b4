# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""From an agent to the warehouse: its pprof files of an hour become Parquet with every nanosecond and the service's attributes."""
import os
import subprocess

from agent_windows import NAME, OVER
from paths import REPO, binary
from pprof_decode import Pprof

HOURLY = REPO / "packaging/warehouse/hourly.sh"


def rows_of(place):
    import duckdb
    return duckdb.execute("""
        SELECT service, service_version, environment, host, team, type, unit, sum(value)
        FROM read_parquet($1, hive_partitioning = true) GROUP BY ALL""", [f"{place}/*/*/*.parquet"]).fetchall()


def row_of(files):
    """What the rows of these add up to."""
    values = sum(both[1] for path in files for _, both, _ in Pprof(path).samples)
    assert values > 0
    return NAME, "1.10.0", "production", "web-1", "shop", "cpu", "nanoseconds", values


def hourly(windows, parquet, python):
    return subprocess.run([HOURLY, windows, parquet], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "TACHBPF": str(binary()), "TACHBPF_PYTHON": str(python)})


def test_an_hour(windows, tmp_path, python):
    wanted = row_of(windows.glob(f"*{OVER}*"))
    done = hourly(windows, tmp_path / "parquet", python)
    assert done.returncode == 0, done.stderr
    assert rows_of(tmp_path / "parquet") == [wanted]
    left = list(windows.iterdir())
    assert left and all("29991231" in path.name for path in left)


def test_failure_keeps_the_hour(windows, tmp_path, python):
    """Without pyarrow nothing is removed and nothing is written; the next time all is there."""
    before = sorted(windows.iterdir())
    done = hourly(windows, tmp_path / "parquet", "/usr/bin/python3")
    assert done.returncode == 1 and "pip install pyarrow" in done.stderr
    assert sorted(windows.iterdir()) == before and not list((tmp_path / "parquet").rglob("*.parquet"))
    assert hourly(windows, tmp_path / "parquet", python).returncode == 0
    assert len(list((tmp_path / "parquet").rglob("*.parquet"))) == 1


def test_damaged_files_are_set_aside(windows, tmp_path, python):
    """An hour is not held up by a file that a crash has left empty, and counts once."""
    wanted = row_of(windows.glob(f"*{OVER}*"))
    empty = windows / f"shop-cpu-{OVER}0009Z.pb.gz"
    empty.touch()
    done = hourly(windows, tmp_path / "parquet", python)
    assert done.returncode == 0 and f"{empty.name} is damaged: renamed to" in done.stderr
    assert rows_of(tmp_path / "parquet") == [wanted]
    assert [path.name for path in windows.glob(f"*{OVER}*")] == [f"{empty.name}.damaged"]


def test_a_run_that_was_ended(windows, tmp_path, python):
    """It had made Parquet, and had not removed all files: what is left of them counts no more."""
    first, second = sorted(windows.glob(f"*{OVER}*"))
    (windows / f".converted-{OVER}").write_bytes(f"./{first.name}\0".encode())
    wanted = row_of([second])
    assert hourly(windows, tmp_path / "parquet", python).returncode == 0
    assert rows_of(tmp_path / "parquet") == [wanted]
    assert not list(windows.glob(f"*{OVER}*")) and not list(windows.glob(".*"))
