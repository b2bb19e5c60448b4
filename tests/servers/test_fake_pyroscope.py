# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pyroscope's push API, by a server of ours that answers as the real one does (fake_pyroscope.py)."""
import time
from collections import Counter

import noise
import pytest
from agent import bound_s
from fake_pyroscope import NOT_READY, answer, error, series_of, taken
from http_sink import Answer, Sink

RATE = 999
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


def start(rig, sink, *more):
    return rig.start("--rate", RATE, "--pyroscope-url", sink.url, *more)


def test_a_fake_pyroscope_takes_all(rig):
    began, stolen = time.time(), noise.stolen_s()
    with Sink(answer) as sink:
        started = start(rig, sink, "--label", "ring=one", "--label", "a.b-c=d")
        target = rig.target("train.py", env={"OTEL_RESOURCE_ATTRIBUTES": "service.version=1.2"})
        spent = target.spend(2)
        started.end()
        sink.settle()
        assert sink.seen and len(sink.taken()) == len(sink.seen), [(p.status, p.path) for p in sink.seen]
        total = 0
        for series in (s for posted in sink.taken() for s in series_of(posted)):
            assert series.types == [CPU]
            assert series.labels["service_name"] == "train.py" and series.labels["service_version"] == "1.2"
            assert series.labels["ring"] == "one" and series.labels["a_b_c"] == "d"
            assert series.labels["__delta__"] == "false"
            # nothing that differs between processes or samples: each value would be a series
            assert not [k for k in series.labels if k.startswith(("process", "thread"))]
            assert all(labels == {} for _, _, labels in series.pprof.samples)
            assert began - 2 <= series.pprof.time_ns / 1e9 <= time.time() + 2
            assert any(frame[1] == "burn" and frame[0].endswith(".burn")
                       for stack, _, _ in series.pprof.samples for frame in stack)
            total += series.sum() / 1e9
    assert total in bound_s(spent, RATE, noise.stolen_s() - stolen)


def test_a_service_of_a_window_is_one_request(rig):
    """With all its types; no series has the same time twice."""
    with Sink(answer) as sink:
        started = start(rig, sink, "--modes", "cpu,offcpu,gil,exception,memory,heap", "--heap-every", "1s")
        rig.target("train.py").spend(2)
        started.end()
        sink.settle()
        times = Counter()
        for posted in sink.taken():
            all_series = series_of(posted)
            assert len({s.labels["service_name"] for s in all_series}) == 1
            types = [t for s in all_series for t in s.types]
            assert len(types) == len(set(types))
            times.update((*s.types, *sorted(s.labels.items()), s.pprof.time_ns) for s in all_series)
        assert set(times.values()) == {1}
        types = {t for posted in sink.taken() for s in series_of(posted) for t in s.types}
        assert {CPU, "off_cpu:off_cpu:nanoseconds::", "memory:inuse_space:bytes:memory:bytes",
                "heap:heap_objects:count:heap:count", "heap:heap_space:bytes:heap:bytes"} <= types
        assert any(len(series_of(posted)) > 1 for posted in sink.taken())


@pytest.mark.parametrize("refusal", (
    pytest.param(error(*NOT_READY), id="not-ready"),
    pytest.param(error("resource_exhausted", "push rate limit (4.0 MiB) exceeded while adding 977 KiB"), id="limit"),
    pytest.param(Answer(503, b"no healthy upstream"), id="proxy"),
))
def test_a_fake_pyroscope_that_takes_nothing_yet(rig, refusal):
    left = [5]

    def refuse_first(posted):
        left[0] -= 1
        return refusal if left[0] >= 0 else answer(posted)
    with Sink(refuse_first) as sink:
        started = start(rig, sink, "--retry-initial", "100ms", "--retry-max", "200ms")
        rig.target().spend(1)
        sink.wait(lambda s: s.taken())
        started.end()
        sink.settle()
        refused = {p.raw for p in sink.seen if p.status == refusal.status}
        assert refused and refused <= {p.raw for p in sink.taken()}


def test_a_proxy_before_it_with_a_small_limit(rig):
    """413: a request is halved by series until each is alone, and nothing is lost or there twice."""
    def small(posted):
        return taken(posted) if len(series_of(posted)) == 1 else Answer(413)
    with Sink(small) as sink:
        started = start(rig, sink, "--modes", "cpu,offcpu,memory")
        rig.target("train.py").spend(2)
        started.end()
        sink.settle()
        large = Counter(s.bytes for p in sink.seen if p.status == 413 for s in series_of(p))
        alone = Counter(s.bytes for p in sink.taken() for s in series_of(p))
        assert large and large.keys() <= alone.keys() and set(alone.values()) == {1}


def test_a_fake_pyroscope_beside_a_server_that_is_down(rig):
    """Each exporter has its own queue."""
    with Sink(answer) as sink:
        started = start(rig, sink, "--otlp-endpoint", "http://127.0.0.1:1", "--retry-initial", "100ms")
        rig.target().spend(1.5)
        sink.wait(lambda s: len(s.taken()) >= 1)
        started.end()
