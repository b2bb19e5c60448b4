# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fixtures: pprof files of a real agent's windows."""
import os
import re
import subprocess
import sys
import time

import pytest

from paths import binary

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
