# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""From an agent to the warehouse: its pprof files of an hour become Parquet with every nanosecond and the service's attributes."""
import os
import re
import subprocess
import sys
import time

import pytest

from paths import REPO, binary
from pprof_decode import Pprof

HOURLY = REPO / "packaging/warehouse/hourly.sh"
NAME = "shop/api v2"
WORK = """
import sys, time
print("ready", flush=True)
def spend(): return sum(i * i for i in range(1000))
while True: spend()
"""
OVER = "20261101T12"        # an hour that is over


def wait_for(found, seconds=60):
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The agent's files of three windows, and its log."""
    place = tmp_path_factory.mktemp("agent")
    env = {**os.environ, "OTEL_SERVICE_NAME": NAME,
           "OTEL_RESOURCE_ATTRIBUTES": "service.version=1.10.0,deployment.environment.name=production"}
    agent = [binary().parent / "tachbpf-agent", "--rate", "99", "--window", "1s", "--pprof-dir", place / "pprof",
             "--spool-dir", place / "spool", "--ctl-socket", place / "ctl.sock", "--metrics-listen", "", "--label", "team=shop",
             "--label", "host.name=web-1"]
    with open(place / "log", "w", encoding="utf-8") as log, \
            subprocess.Popen([sys.executable, "-c", WORK], env=env, stdout=subprocess.PIPE, text=True) as program, \
            subprocess.Popen(agent, stderr=log) as running:
        try:
            program.stdout.readline()
            wait_for(lambda: len(list((place / "pprof").glob("shop_api_v2-cpu-*.pb.gz"))) >= 3)
        finally:
            running.terminate()
            running.wait(60)
            program.kill()
    return place / "pprof"


@pytest.fixture
def windows(made, tmp_path):
    """A copy for the test; two windows are of an hour that is over, all others of one that is not."""
    place = tmp_path / "windows"
    place.mkdir()
    ours = sorted(made.glob("shop_api_v2-cpu-*.pb.gz"))
    for i, path in enumerate(ours):
        time_in_name = rf"{OVER}000{i}" if i < 2 else "29991231T235900"
        (place / re.sub(r"\d{8}T\d{6}", time_in_name, path.name)).write_bytes(path.read_bytes())
    return place


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
