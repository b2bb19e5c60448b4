# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""From an agent to the warehouse: its pprof files of an hour become Parquet with every nanosecond and the service's attributes."""
import os
import subprocess

from agent_windows import NAME, OVER
from paths import REPO, binary
from pprof_decode import Pprof

HOURLY = REPO / "packaging/warehouse/hourly.sh"


def hourly(windows, parquet, python):
    return subprocess.run([HOURLY, windows, parquet], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "TACHBPF": str(binary()), "TACHBPF_PYTHON": str(python)})


def test_an_hour(windows, tmp_path, python):
    import duckdb
    over = sorted(windows.glob(f"*{OVER}*"))
    values = sum(both[1] for path in over for _, both, _ in Pprof(path).samples)
    done = hourly(windows, tmp_path / "parquet", python)
    assert done.returncode == 0, done.stderr
    found = duckdb.execute("""
        SELECT service, service_version, environment, host, team, type, unit, sum(value)
        FROM read_parquet($1, hive_partitioning = true) GROUP BY ALL""", [f"{tmp_path}/parquet/*/*/*.parquet"]).fetchall()
    assert found == [(NAME, "1.10.0", "production", "web-1", "shop", "cpu", "nanoseconds", values)] and values > 0
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
