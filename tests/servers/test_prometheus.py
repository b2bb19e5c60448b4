# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Debian's Prometheus scrapes the agent, and answers queries about what it got."""
import subprocess
import threading
import time

import noise
from processes import cpu_s
from services import Prometheus

RATE = 999
SECONDS = 20
CPU = 'tachbpf_python_cpu_seconds_total{service="spend.py"}'
# A sample is in the metrics at most so long after it was taken (agent_windows.h), and Prometheus' times
# are those of the begin of a scrape.
LATE_S = 0.1 + 0.1


class Watch(threading.Thread):
    """(time of the wall clock, CPU seconds) of a process, again and again."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.seen, self.going = pid, [], True

    def run(self):
        while self.going:
            self.seen.append((time.time(), cpu_s(self.pid)))
            time.sleep(0.02)

    def at(self, moment):
        """Between two readings, as if it had run evenly."""
        for (t0, c0), (t1, c1) in zip(self.seen, self.seen[1:]):
            if t0 <= moment <= t1:
                return c0 + (c1 - c0) * (moment - t0) / (t1 - t0)
        raise AssertionError(f"not watched at {moment}")


def values(server, expression):
    """(time, value) of each scrape of one series, in the last five minutes."""
    found = server.query(expression + "[5m]")
    return [(t, float(v)) for t, v in found[0]["values"]] if found else []


def test_metrics_are_as_prometheus_wants_them(rig, tool):
    promtool = tool("promtool", "prometheus")
    started = rig.start("--rate", RATE)
    rig.target().spend(1)
    done = subprocess.run([promtool, "check", "metrics"], input=started.metrics_text(),
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stdout and not done.stderr, done


def test_cpu_seconds_of_a_service(rig, tool, directories):
    tool("prometheus", "prometheus")
    started = rig.start("--rate", RATE)
    target = rig.target()
    with Prometheus(directories("prometheus"), f"127.0.0.1:{started.port}") as server:
        watch = Watch(target.pid)
        watch.start()
        before = noise.account(target.pid)
        target.begin(SECONDS + 2)
        end = time.monotonic() + 3 * SECONDS
        while len(seen := values(server, CPU)) < SECONDS and time.monotonic() < end:
            time.sleep(0.2)
        assert len(seen) >= SECONDS, started.metrics_text()
        used = noise.account(target.pid) - before
        watch.going = False
        watch.join()
        assert server.query("up")[0]["value"][1] == "1"
        assert {v for _, v in values(server, "up")} == {1}
        (first, start), (last, stop) = seen[1], seen[-1]
        cpu = watch.at(last) - watch.at(first)
        bound = noise.count_bound(cpu, RATE, slices=used.slices)
        said = stop - start
        assert bound.low / RATE - LATE_S <= said <= bound.high / RATE + LATE_S, (said, cpu)
        rate = float(server.query(f"rate({CPU}[15s])")[0]["value"][1])
        share = cpu / (last - first)
        print(f"rate(): {rate:.3f} of a CPU; the scheduler says {share:.3f}")
        assert abs(rate - share) < 0.25     # over other 15 of these seconds
