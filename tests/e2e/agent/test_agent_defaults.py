# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf agent` alone: all Pythons at 19 Hz, to the spool, with metrics on 127.0.0.1:9419."""
import contextlib
import re
import subprocess
import time

from agent import program, without_otel
from processes import TIMEOUT, kill

# Where an agent that is told nothing writes, and its port, are its own here.
ALONE = ("ip link set lo up && mount -t tmpfs none /var/lib && mount -t tmpfs none /run && "
         'exec "$0"')
PORT = 9419
WINDOW_S = 15


@contextlib.contextmanager
def alone(log):
    process = subprocess.Popen(["unshare", "--mount", "--net", "sh", "-c", ALONE, program()],
                               stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                               start_new_session=True, env=without_otel())
    try:
        yield process
    finally:
        kill(process)


def inside(process, *argv):
    return subprocess.run(["nsenter", "-t", str(process.pid), "-m", "-n", *argv], timeout=TIMEOUT,
                          capture_output=True, text=True)


def metric(process, name):
    """A value; None: nobody answers, or there is none of that name."""
    read = (f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{PORT}/metrics')"
            ".read().decode())")
    done = inside(process, "/usr/bin/python3", "-c", read)
    found = re.search("^" + re.escape(name) + r" (\S+)$", done.stdout, re.M)
    return float(found[1]) if found else None


def wait_for(condition, log_path, seconds):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, log_path.read_text()
        time.sleep(0.2)


def test_without_any_configuration(rig, out):
    path = out / "log"
    with open(path, "w") as log, alone(log) as process:
        wait_for(lambda: metric(process, "tachbpf_agent_rate_configured_hertz") == 19, path, 60)
        target = rig.target()
        target.spend(3)
        cpu = 'tachbpf_python_cpu_seconds_total{service="spend.py"}'
        wait_for(lambda: metric(process, cpu), path, 60)
        wait_for(lambda: metric(process, "tachbpf_agent_spool_entries"), path, 60 + 2 * WINDOW_S)
        process.terminate()
        assert process.wait(60) == 0, path.read_text()
    assert "error" not in path.read_text()
