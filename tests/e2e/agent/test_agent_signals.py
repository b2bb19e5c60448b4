# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""SIGTERM, SIGHUP, kill -9: nothing that was sampled is lost without being counted."""
import signal
import time

import noise
from agent import bound_s, profile_ids, profiles, seconds_of
from http_sink import Answer, Sink

RATE = 999
END_S = 5
LONG = ("--window", "1h")       # never ends by itself


def test_sigterm_sends_the_open_window(rig, sink):
    started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url, *LONG)
    stolen = noise.stolen_s()
    spent = rig.target().spend(1.5)
    assert not sink.taken()
    started.end()
    sink.settle()
    assert seconds_of(sink) in bound_s(spent, RATE, noise.stolen_s() - stolen)
    assert not list(started.spool.glob("*.spool")), "what was sent is still in the spool"


def test_sigterm_spools_what_cannot_be_sent(rig, sink):
    """The server does not answer. The next agent sends it."""
    stolen = noise.stolen_s()
    with Sink(lambda posted: Answer(503)) as dead:
        port = dead.port
        started = rig.start("--rate", RATE, "--otlp-endpoint", dead.url, *LONG)
        spent = rig.target().spend(1.5)
        before = time.monotonic()
        started.end()
        sink.settle()
        assert time.monotonic() - before < END_S
    with Sink(port=port) as alive:
        again = rig.start("--otlp-endpoint", alive.url, *LONG)
        alive.wait(lambda s: s.taken())
        again.end()
        sink.settle()
        assert seconds_of(alive) in bound_s(spent, RATE, noise.stolen_s() - stolen)


def test_kill_9_then_restart(rig):
    """What was spooled comes; once."""
    with Sink(lambda posted: Answer(503)) as dead:
        port = dead.port
        started = rig.start("--rate", RATE, "--otlp-endpoint", dead.url)
        target = rig.target()
        target.spend(1.5)
        dead.wait(lambda s: len(s.seen) >= 2)
        before = len(list(started.spool.iterdir()))
        assert before > 0
        started.process.send_signal(signal.SIGKILL)
        started.wait_alone()
    with Sink(port=port) as alive:
        again = rig.start("--rate", RATE, "--otlp-endpoint", alive.url)
        alive.wait(lambda s: seconds_of(s, "spend.py") > 0)
        again.end()
        ids = profile_ids(alive)
        assert len(ids) == len(set(ids))


def write(path, rate, endpoint, *more):
    path.write_text("\n".join([f"rate: {rate}", f"exporters: {{otlp: {{endpoint: '{endpoint}'}}}}",
                               *more]) + "\n")


def test_sighup_changes_the_rate(rig, sink):
    """And no sample is lost: the sum is what the process used, at two rates."""
    config = rig.out / "agent.yaml"
    write(config, RATE, sink.url)
    stolen = noise.stolen_s()
    started = rig.start("--config", config)
    target = rig.target()
    first = target.spend(2)
    target.begin(3)
    write(config, 250, sink.url)
    started.process.send_signal(signal.SIGHUP)
    second = target.done()
    started.end()
    sink.settle()
    rates = {round(1e9 / p["period"]) for _, p in profiles(sink)}
    assert rates == {RATE, 250}
    stolen = noise.stolen_s() - stolen
    low = bound_s(first, RATE, stolen).low + bound_s(second, 250, stolen).low
    high = bound_s(first, RATE, stolen).high + bound_s(second, 250, stolen).high
    assert seconds_of(sink) in noise.Bound(low, high)


def test_sighup_changes_labels(rig, sink):
    """At once: what was sampled before has the old ones."""
    config = rig.out / "agent.yaml"
    write(config, RATE, sink.url, "labels: {ring: one}")
    started = rig.start("--config", config, *LONG)
    target, names = rig.target(), ["one", "two", "three"]
    spent = [target.spend(0.6)]
    for name in names[1:]:
        write(config, RATE, sink.url, f"labels: {{ring: {name}}}")
        started.process.send_signal(signal.SIGHUP)
        started.wait_said("configuration reloaded", names.index(name))
        spent.append(target.spend(0.6))
    started.end()
    sink.settle()
    for name, used in zip(names, spent):
        seconds = sum(value * p["period"] for a, p in profiles(sink) for _, value, _ in p["samples"]
                      if a["ring"] == name) / 1e9
        # an interval's sample may be taken after the reload
        assert seconds - 1 / RATE <= bound_s(used, RATE, used.cpu_s * 0.05).high
        assert seconds >= bound_s(used, RATE, used.cpu_s * 0.05).low - 0.1


def test_sighup_changes_the_selection(rig, sink):
    config = rig.out / "agent.yaml"
    write(config, RATE, sink.url, "labels: {ring: one}")
    started = rig.start("--config", config)
    target = rig.target()
    target.spend(0.6)
    write(config, RATE, sink.url, "labels: {ring: two}", "selection: {exclude: {uid: [0]}}")
    started.process.send_signal(signal.SIGHUP)
    started.wait_said("configuration reloaded")
    target.spend(0.6)
    write(config, RATE, sink.url, "labels: {ring: three}")
    started.process.send_signal(signal.SIGHUP)
    started.wait_said("configuration reloaded", 2)
    target.spend(0.6)
    started.end()
    sink.settle()
    assert {a["ring"] for a, _ in profiles(sink)} == {"one", "three"}     # targets are root's


def test_sighup_with_a_wrong_file_changes_nothing(rig, sink):
    config = rig.out / "agent.yaml"
    write(config, RATE, sink.url)
    started = rig.start("--config", config)
    target = rig.target()
    config.write_text("rat: 9\n")
    started.process.send_signal(signal.SIGHUP)
    started.wait_said("agent.yaml:1")
    spent = target.spend(0.6)
    started.end()
    sink.settle()
    assert seconds_of(sink) in bound_s(spent, RATE, spent.cpu_s * 0.05)
