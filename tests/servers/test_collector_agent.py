# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The agent's own windows through a real OpenTelemetry Collector to a server behind it."""
import os

import pytest

import noise
import otlp_decode
from agent import bound_s
from http_sink import Sink
from services import Collector

RATE = 999
ID = os.urandom(32).hex()


def handed_on(sink):
    """What the Collector sent to the server behind it, by the published decoder."""
    return [otlp_decode.Published(p.body, ours=False) for p in sink.taken()]


def seconds(requests, service):
    return sum(value * p["period"] for r in requests for attributes, found in r.resources
               for p in found if attributes["service.name"] == service
               and p["type"] == otlp_decode.COUNT for _, value, _ in p["samples"]) / 1e9


@pytest.mark.parametrize("compression", ("gzip", "none"))
@pytest.mark.parametrize("protocol", ("http/protobuf", "grpc"))
def test_windows_of_the_agent(rig, directories, collector_program, protocol, compression):
    assert otlp_decode.ExportProfilesServiceRequest, "opentelemetry-proto is not here"
    with Sink() as sink, Collector(directories("collector"), collector_program,
                                   sink.url) as collector:
        stolen = noise.stolen_s()
        url = collector.url if protocol != "grpc" else f"http://127.0.0.1:{collector.grpc}"
        started = rig.start("--rate", RATE, "--otlp-endpoint", url, "--otlp-protocol", protocol,
                            "--otlp-compression", compression)
        docker = rig.place.make("system.slice", f"docker-{ID}.scope")
        targets = {"shop": rig.target(env={"OTEL_SERVICE_NAME": "shop"}),
                   "pay.py": rig.target("pay.py"),
                   None: rig.target("boxed.py", cgroup=docker)}
        for target in targets.values():
            target.begin(1.5)
        spent = {name: target.done() for name, target in targets.items()}
        said = started.end()
        stolen = noise.stolen_s() - stolen
        sink.wait(lambda s: all(seconds(handed_on(s), name) >= bound_s(used, RATE, stolen).low
                                for name, used in spent.items() if name), 60)
        requests, printed = handed_on(sink), collector.said()
    by_name = {a["service.name"]: a for r in requests for a, _ in r.resources}
    boxed, = (a for a in by_name.values() if a.get("container.id") == ID)
    spent[boxed["service.name"]] = spent.pop(None)
    assert by_name.keys() == spent.keys()
    for name, used in spent.items():
        assert seconds(requests, name) in bound_s(used, RATE, stolen), name
        assert f"service.name: Str({name})" in printed
        assert by_name[name]["host.name"] == os.uname().nodename
        assert by_name[name]["process.runtime.name"] == "cpython"
    stacks = {tuple(frame[0] for frame in stack) for r in requests for _, found in r.resources
              for p in found for stack, _, _ in p["samples"]}
    assert ("burn", "main", "<module>") in stacks
    kinds = {frame[3] for r in requests for _, found in r.resources for p in found
             for stack, _, _ in p["samples"] for frame in stack}
    assert "cpython" in kinds and kinds <= {"cpython", "native", "kernel", None}
    ids = [p["id"] for r in requests for _, found in r.resources for p in found]
    assert len(ids) == len(set(ids))
    assert "400" not in said


def test_a_collector_that_comes_later(rig, directories, collector_program):
    """It is not there when the agent starts, and is killed in between: nothing is lost or twice."""
    with Sink() as sink:
        collector = Collector(directories("collector"), collector_program, sink.url)
        stolen = noise.stolen_s()
        started = rig.start("--rate", RATE, "--otlp-endpoint", collector.url,
                            "--retry-initial", "100ms", "--retry-max", "500ms")
        target = rig.target()
        first = target.spend(1.5)
        with collector:
            sink.wait(lambda s: seconds(handed_on(s), "spend.py") > 0)
        second = target.spend(1.5)
        with collector:
            low = sum(bound_s(s, RATE).low for s in (first, second))
            sink.wait(lambda s: seconds(handed_on(s), "spend.py") >= low - 1)
            started.end()
        bounds = [bound_s(s, RATE, noise.stolen_s() - stolen) for s in (first, second)]
        requests = handed_on(sink)
        assert seconds(requests, "spend.py") <= sum(b.high for b in bounds)
        assert seconds(requests, "spend.py") >= sum(b.low for b in bounds) - 1
        ids = [p["id"] for r in requests for _, found in r.resources for p in found]
        assert len(ids) == len(set(ids))
