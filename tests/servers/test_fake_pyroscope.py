# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A fake Pyroscope: a server of ours, which checks what the real one's /ingest is known to want.
docs/agent.md says what was tried with a real one."""
import time

import noise
from agent import bound_s
from http_sink import Answer, Sink
from pprof_decode import Pprof

RATE = 999


def pprof_of(posted, path):
    path.write_bytes(posted.raw)
    return Pprof(path)


def labels_of(name):
    """service{key="value",...} as Pyroscope's key has them, without quotes."""
    assert name.endswith("}") and name.count("{") == 1, name
    pairs = name[name.index("{") + 1:-1]
    return dict(pair.split("=", 1) for pair in pairs.split(",")) if pairs else {}


def test_a_fake_pyroscope_gets_what_the_real_one_wants(rig, sink, tmp_path):
    began, stolen = time.time(), noise.stolen_s()
    started = rig.start("--rate", RATE, "--pyroscope-url", sink.url, "--label", "ring=one")
    target = rig.target("train.py", env={"OTEL_RESOURCE_ATTRIBUTES": "service.version=1.2"})
    spent = target.spend(2)
    started.end()
    taken, total = sink.taken(), 0
    assert taken
    for number, posted in enumerate(taken):
        assert posted.method == "POST" and posted.path == "/ingest"
        assert posted.query["format"] == "pprof"
        # multipart with format is refused with 422
        assert not posted.headers.get("Content-Type", "").startswith("multipart")
        begin, end = int(posted.query["from"]), int(posted.query["until"])
        assert began - 2 <= begin <= end <= time.time() + 2
        name = posted.query["name"]
        assert name.startswith("train.py"), name
        assert labels_of(name)["ring"] == "one"
        assert not {"tid", "thread.id", "process.pid"} & labels_of(name).keys()
        p = pprof_of(posted, tmp_path / f"{number}.pprof")
        assert all(labels == {} for _, _, labels in p.samples)     # each value would be a series
        cpu = p.types.index(("cpu", "nanoseconds"))
        total += sum(values[cpu] for _, values, _ in p.samples) / 1e9
        assert any(frame[1] == "burn" for stack, _, _ in p.samples for frame in stack)
    assert total in bound_s(spent, RATE, noise.stolen_s() - stolen)


def test_a_fake_pyroscope_that_is_not_ready(rig):
    """Its ring has no address: the real one answers 422 at /ingest then."""
    left = [5]

    def unavailable(posted):
        left[0] -= 1
        return Answer(422, b"rpc error: code = Unavailable desc = service is unavailable") if left[0] >= 0 else Answer()
    with Sink(unavailable) as sink:
        started = rig.start("--rate", RATE, "--pyroscope-url", sink.url, "--retry-initial", "100ms", "--retry-max",
                            "200ms")
        rig.target().spend(1)
        sink.wait(lambda s: s.taken())
        started.end()
        sink.settle()
        refused = {p.raw for p in sink.seen if p.status == 422}
        assert refused and refused <= {p.raw for p in sink.taken()}


def test_a_fake_pyroscope_beside_a_server_that_is_down(rig):
    """Each exporter has its own queue."""
    with Sink() as sink:
        started = rig.start("--rate", RATE, "--pyroscope-url", sink.url, "--otlp-endpoint",
                            "http://127.0.0.1:1", "--retry-initial", "100ms")
        rig.target().spend(1.5)
        sink.wait(lambda s: len(s.taken()) >= 1)
        started.end()
