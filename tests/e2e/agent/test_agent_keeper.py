# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""kill -9 of the agent's own processes: a worker is replaced; without the keeper the agent ends, so
that whoever watches it starts another."""
import time
import urllib.request

from http_sink import Answer, Sink
from processes import TIMEOUT, children_by_name, kill_and_wait


def is_healthy(agent):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{agent.port}/-/healthy", timeout=20) as got:
            return got.status == 200
    except OSError:
        return False


def test_the_keeper_is_killed(rig):
    """The agent fails, and what it had sampled is in the spool."""
    with Sink(lambda posted: Answer(503)) as dead:
        agent = rig.start("--rate", 999, "--otlp-endpoint", dead.url, "--window", "1h")
        rig.target().spend(0.5)
        assert is_healthy(agent)
        keeper = children_by_name(agent.process.pid)["tachbpf-keeper"]
        kill_and_wait(keeper)
        assert agent.wait() == 1
    assert f"tachbpf-keeper ({keeper}) was killed" in agent.said()
    assert not is_healthy(agent)
    assert list(agent.spool.glob("*.spool"))


def test_workers_are_killed(rig, sink):
    """Each one's place is taken; the agent finds, names and sends what comes afterwards."""
    agent = rig.start("--rate", 999, "--otlp-endpoint", sink.url)
    rig.target().spend(0.3)
    sink.wait(lambda s: s.taken())
    workers = children_by_name(children_by_name(agent.process.pid)["tachbpf-keeper"])
    assert {"tachbpf-sender", "tachbpf-metrics", "tachbpf-inspect"} <= set(workers)
    for pid in workers.values():
        kill_and_wait(pid)
    end = time.monotonic() + TIMEOUT
    while not is_healthy(agent):
        assert time.monotonic() < end, agent.said()
        time.sleep(0.05)
    before = len(sink.taken())
    rig.target("later.py").spend(0.5)
    sink.wait(lambda s: len(s.taken()) > before)
    agent.end()
