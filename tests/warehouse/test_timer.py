# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tachbpf-parquet's units as `make install` installs them, run by a systemd of their own: the jail lets them do their work."""
import os
import re
import shutil
import subprocess

import present
import pytest

from agent_windows import OVER
from paths import REPO, binary

UNITS = "etc/systemd/system"
PREFIX = "/opt/installed"
TEST = """
[Unit]
Wants=basic.target
After=basic.target
[Service]
Type=oneshot
ExecStart=/bin/sh /test/script
StandardOutput=append:/test/said
StandardError=inherit
ExecStopPost=/bin/systemctl --no-block exit 0
"""
RUN = """
systemctl enable --now tachbpf-parquet.timer
systemctl show -p NextElapseUSecRealtime tachbpf-parquet.timer
systemctl start tachbpf-parquet.service
systemctl show -p Result,ExecMainStatus tachbpf-parquet.service
journalctl -u tachbpf-parquet.service --no-pager -o cat
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    destdir = tmp_path_factory.mktemp("destdir")
    done = subprocess.run(["make", "--no-print-directory", f"O={os.path.relpath(binary().parent, REPO)}", "-o", "all", "install",
                           f"DESTDIR={destdir}", f"PREFIX={PREFIX}"], cwd=REPO, capture_output=True, text=True, check=False,
                          env={k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))})
    assert done.returncode == 0, done.stdout + done.stderr
    return destdir


@pytest.fixture
def boot(installed, tmp_path):
    """Runs a script in a system that has this one's /usr and nothing else; binds: what is where in it. Returns what it said."""
    if not shutil.which("systemd-nspawn"):
        present.absent("systemd-nspawn is not installed (package systemd-container)")
    place = tmp_path / "test"
    place.mkdir()
    (place / "test.service").write_text(TEST)

    def run(script, **binds):
        (place / "script").write_text(script)
        (place / "said").write_text("")
        all_binds = {place: "/test", place / "test.service": "/etc/systemd/system/test.service", installed / PREFIX[1:]: PREFIX,
                     **{path: f"/{UNITS}/{path.name}" for path in (installed / UNITS).iterdir()},
                     **{path: where for where, path in binds.items()}}
        words = [word for path, where in all_binds.items() for word in ("--bind", f"{path}:{where}")]
        done = subprocess.run(["systemd-nspawn", "--quiet", "--directory=/", "--volatile=yes", "--register=no", "--keep-unit",
                               "--console=pipe", "--private-network", "--setenv=PATH=/usr/sbin:/usr/bin", *words,
                               "--boot", "systemd.unit=test.service"],
                              capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
        said = (place / "said").read_text()
        assert said, done.stdout + done.stderr
        return said

    return run


def directories(tmp_path, windows):
    made_of = {"/var/lib/tachbpf/pprof": windows}
    for name, where in (("parquet", "/var/lib/tachbpf/parquet"), ("metrics", "/var/lib/prometheus/node-exporter")):
        (tmp_path / name).mkdir()
        made_of[where] = tmp_path / name
    os.chown(tmp_path / "metrics", 65534, 65534)        # the collector's user
    return made_of


def metrics(tmp_path):
    path = tmp_path / "metrics/tachbpf_parquet.prom"
    assert path.stat().st_mode & 0o777 == 0o644
    return {name: float(value) for name, value in (line.split() for line in path.read_text().splitlines() if line[0] != "#")}


def test_the_timers_service(boot, windows, tmp_path, python):
    where = directories(tmp_path, windows)
    said = boot(RUN, **where, **{"/opt/tachbpf": os.path.dirname(os.path.dirname(python))})
    assert "Result=success" in said and "ExecMainStatus=0" in said, said
    assert re.search(r"(?m)^NextElapseUSecRealtime=.*20\d\d-\d\d-\d\d ", said), said
    found = list((tmp_path / "parquet").rglob("*.parquet"))
    assert len(found) == 1 and not list(windows.glob(f"*{OVER}*")) and list(windows.iterdir())
    values = metrics(tmp_path)
    assert (values["tachbpf_parquet_hours_waiting"], values["tachbpf_parquet_last_run_hours_converted"]) == (0, 1)
    assert values["tachbpf_parquet_last_run_timestamp_seconds"] > found[0].stat().st_mtime - 1


def test_without_pyarrow(boot, windows, tmp_path):
    """The unit fails, says why, and the metrics say so; nothing is removed."""
    before = sorted(windows.iterdir())
    said = boot(RUN, **directories(tmp_path, windows))
    assert "Result=exit-code" in said and "ExecMainStatus=1" in said, said
    assert "name a Python" in said, said
    assert sorted(windows.iterdir()) == before
    assert metrics(tmp_path)["tachbpf_parquet_hours_waiting"] == 1


def test_without_directories(boot):
    """On a host without node_exporter whose agent has not written anything."""
    said = boot(RUN + "ls -d /var/lib/tachbpf/pprof /var/lib/tachbpf/parquet /var/lib/prometheus 2>&1")
    assert "Result=success" in said, said
    assert "\n/var/lib/tachbpf/parquet\n" in said and "cannot access '/var/lib/prometheus'" in said
