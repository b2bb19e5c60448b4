# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Servers that are down, full, slow, or refuse: all samples arrive, or are counted; none twice."""
import signal
import threading

import pytest

import noise
from agent import bound_s, profile_ids, seconds_of
from http_sink import Answer, Sink

RATE = 999
QUICK = ("--retry-initial", "100ms", "--retry-max", "200ms")


def first(cnt, answer):
    """The first so many requests get it, the others are taken."""
    left, lock = [cnt], threading.Lock()

    def choose(posted):
        with lock:
            left[0] -= 1
            return answer(posted) if left[0] >= 0 else Answer()
    return choose


def busy(posted):
    return Answer(429, Retry_After="1")


def large(limit):
    return lambda posted: Answer(413) if len(posted.body) > limit else Answer()


@pytest.mark.parametrize("answer", (
    pytest.param(first(3, busy), id="429"),
    pytest.param(first(3, lambda posted: Answer(503)), id="503"),
    pytest.param(first(3, lambda posted: Answer(502, b"<html>" * 1000)), id="502-html"),
    # a Pyroscope that is not ready
    pytest.param(first(3, lambda posted: Answer(500, b'{"code":"unavailable"}')), id="500"),
))
def test_it_tries_again(rig, answer):
    stolen = noise.stolen_s()
    with Sink(answer) as sink:
        started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url, *QUICK)
        spent = rig.target().spend(2)
        # What waits in the spool comes while the agent runs: an ending one leaves it there.
        bound = bound_s(spent, RATE, noise.stolen_s() - stolen)
        sink.wait(lambda s: len(s.seen) > 3 and seconds_of(s) >= bound.low)
        started.end()
        sink.settle()
        refused = [p for p in sink.seen if p.status != 200]
        assert len(refused) == 3
        # the same bytes, so that a server can know it: profile_id
        assert {p.raw for p in refused} <= {p.raw for p in sink.taken()}
        ids = profile_ids(sink)
        assert len(ids) == len(set(ids))
        assert seconds_of(sink) in bound


TWO = """exporters:
  otlp: {endpoint: '${FIRST}'}
  otlp/second:
    endpoint: ${SECOND}
    compression: none
    max_request_bytes: ${SIZE:-1MiB}
"""


@pytest.mark.parametrize("size", (None, "64KiB"))
def test_two_servers(rig, size):
    """Each gets all, also while the other one is down, and has its own row in the metrics."""
    stolen = noise.stolen_s()
    (rig.out / "two.yaml").write_text(TWO)
    with Sink() as first_sink, Sink(first(3, lambda posted: Answer(503))) as second:
        env = {"FIRST": first_sink.url, "SECOND": second.url} | ({"SIZE": size} if size else {})
        started = rig.start("--rate", RATE, "--config", rig.out / "two.yaml", *QUICK, env=env)
        spent = rig.target().spend(2)
        bound = bound_s(spent, RATE, noise.stolen_s() - stolen)
        for sink in (first_sink, second):
            sink.wait(lambda s: seconds_of(s) >= bound.low)
        metrics = started.metrics()
        started.end()
        for sink in (first_sink, second):
            sink.settle()
            assert seconds_of(sink) in bound
        assert seconds_of(first_sink) == seconds_of(second)
        assert len(first_sink.seen) == len(first_sink.taken())
        assert {p.headers.get("Content-Encoding") for p in second.seen} == {None}
        # encoded once if their limits are the same
        assert (sorted(profile_ids(first_sink)) == sorted(profile_ids(second))) == (size is None)
        sent = {name: value for name, value in metrics.items()
                if name.startswith("tachbpf_agent_exporter_retries_total")}
        assert sent == {'tachbpf_agent_exporter_retries_total{exporter="otlp"}': 0,
                        'tachbpf_agent_exporter_retries_total{exporter="otlp/second"}': 3}


def test_retry_after_is_kept(rig):
    with Sink(first(1, busy)) as sink:
        started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url, *QUICK)
        rig.target().spend(0.6)
        sink.wait(lambda s: s.taken())
        started.end()
        sink.settle()
        assert sink.taken()[0].at - sink.seen[0].at >= 1


def test_killed(rig):
    """kill -9 in the middle of a window: the next agent sends what was written through, and counts the rest."""
    stolen = noise.stolen_s()
    with Sink() as sink:
        flags = ("--rate", RATE, "--otlp-endpoint", sink.url, "--window", "10m", *QUICK)
        started = rig.start(*flags)
        spent = rig.target().spend(5)
        drafts = list(started.spool.glob("*.draft"))
        taken = started.metrics()['tachbpf_agent_samples_total{type="cpu"}']
        started.end_by(signal.SIGKILL)
        assert drafts and not sink.seen
        started = rig.start(*flags)
        sink.wait(lambda s: s.taken())
        killed = started.metrics()["tachbpf_agent_spool_killed_samples_total"]
        started.end()
        sink.settle()
        sent = round(seconds_of(sink) * RATE)
        # Each sample was sent or is counted; those of the last moment may have come after the scrape.
        assert sent + killed >= taken > 0
        assert (sent + killed) / RATE in bound_s(spent, RATE, noise.stolen_s() - stolen)
        # What came after the last draft: 1.5 s, and how late the busy machine was with it.
        assert killed < taken / 2
        assert f"was killed: {killed:.0f} samples" in started.said() or not killed
        ids = profile_ids(sink)
        assert len(ids) == len(set(ids))


def test_too_large_is_split(rig):
    stolen = noise.stolen_s()
    with Sink(large(4000)) as sink:
        started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url, *QUICK)
        targets = [rig.target(f"service-{i}.py") for i in range(12)]
        for target in targets:
            target.begin(0.3)
        spent = [target.done() for target in targets]
        stolen = noise.stolen_s() - stolen
        low = sum(bound_s(s, RATE, stolen).low for s in spent)
        high = sum(bound_s(s, RATE, stolen).high for s in spent)
        sink.wait(lambda s: seconds_of(s) >= low)
        started.end()
        sink.settle()
        assert any(p.status == 413 for p in sink.seen) and len(sink.taken()) > 1
        assert seconds_of(sink) in noise.Bound(low, high)


def test_a_slow_server_holds_nothing_up(rig):
    """It takes a request and does not answer: sampling goes on, and windows wait."""
    release = threading.Event()
    stolen = noise.stolen_s()
    with Sink(first(4, lambda posted: Answer(200, hold=release))) as sink:
        started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url, "--otlp-timeout", "60s",
                            *QUICK)
        target = rig.target()
        spent = target.spend(6)
        release.set()
        # What waits in the spool comes while the agent runs: an ending one leaves it there.
        bound = bound_s(spent, RATE, noise.stolen_s() - stolen)
        sink.wait(lambda s: seconds_of(s) >= bound.low)
        started.end()
        sink.settle()
        assert seconds_of(sink) in bound


def test_refused_is_counted_and_not_sent_again(rig):
    with Sink(lambda posted: Answer(400, b"no")) as sink:
        started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url, *QUICK)
        rig.target().spend(1)
        sink.wait(lambda s: s.seen)
        text = started.end()
        sink.settle()
        bodies = [p.raw for p in sink.seen]
        assert len(bodies) == len(set(bodies))
        assert "400" in text
