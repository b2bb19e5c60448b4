# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Windows of any kind, also of hostile names, through a real OpenTelemetry Collector: it takes
them, and what it hands on is what was in them. The agent's own requests: test_collector_agent.py."""
import gzip
import json
import subprocess
import urllib.request

import pytest

import otlp_decode
from command import good
from http_sink import Sink
from paths import binary
from services import Collector

PATH = "/v1development/profiles"
# A partial success in which nothing was rejected.
ALL_OF_IT = b"\x0a\x00"
WINDOWS = ("small", "small_cut", "native", "twins", "twins_cut", "whole", "requests", "pieces", "hostile", "bounded")


@pytest.fixture(scope="module")
def windows(tmp_path_factory):
    """Requests by window, as telemetry encodes them."""
    writer = binary().parent / "tests/unit/telemetry/write_windows"
    directory = tmp_path_factory.mktemp("windows")
    subprocess.run([writer, directory], check=True)
    return {name: [p.read_bytes() for p in sorted(directory.glob(f"{name}-*.otlp"))]
            for name in WINDOWS}


@pytest.fixture(scope="module")
def servers(collector_program, tmp_path_factory):
    """(a Collector, where it forwards to)"""
    with Sink() as sink, Collector(tmp_path_factory.mktemp("collector"), collector_program,
                                   sink.url, debug="normal") as collector:
        yield collector, sink


def post(url, body, encoding):
    """The server's answer. Raises for any status but 200."""
    headers = {"Content-Type": "application/x-protobuf"}
    if encoding == "gzip":
        body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
    request = urllib.request.Request(url + PATH, body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def plain(resources):
    """What is compared: order does not matter, empty ones do."""
    return sorted(resources, key=repr)


@pytest.mark.parametrize("encoding", ("gzip", "identity"))
@pytest.mark.parametrize("name", WINDOWS)
def test_what_a_collector_hands_on(servers, windows, name, encoding):
    assert otlp_decode.ExportProfilesServiceRequest, "opentelemetry-proto is not here"
    collector, sink = servers
    assert windows[name]
    for body in windows[name]:
        before = len(sink.taken())
        assert post(collector.url, body, encoding) == ALL_OF_IT
        sink.wait(lambda s: len(s.taken()) > before)
        forwarded = sink.taken()[before]
        assert forwarded.path == PATH
        theirs = otlp_decode.Published(forwarded.body, ours=False)
        assert plain(theirs.resources) == plain(otlp_decode.Published(body).resources)


def report_of(path, kind):
    """Values by service."""
    rows = json.loads(good("report", "-q", path, "--value", kind, "--by", "service", "--json", "--limit", 0))["rows"]
    return {row["service.name"]: row["self"] for row in rows}


# "hostile" adds up to more than 63 bits, which no reader takes.
@pytest.mark.parametrize("name", [name for name in WINDOWS if name != "hostile"])
def test_what_a_collector_hands_on_is_read(servers, windows, tmp_path, name):
    """As its file exporter keeps it: a stream of the same messages."""
    assert otlp_decode.ExportProfilesServiceRequest, "opentelemetry-proto is not here"
    collector, sink = servers
    before = len(sink.taken())
    for body in windows[name]:
        post(collector.url, body, "gzip")
    sink.wait(lambda s: len(s.taken()) >= before + len(windows[name]))
    bodies = [posted.body for posted in sink.taken()[before:]]
    stream = tmp_path / "stream.otlp"
    stream.write_bytes(collector.wait_kept(bodies))
    want = otlp_decode.totals_of([otlp_decode.Published(body, ours=False) for body in bodies])
    assert want
    for kind in {kind for _, kind in want}:
        shown = "cpu" if kind == otlp_decode.COUNT else kind[0]     # their period is 1 ns
        assert report_of(stream, shown) == {service: sum_ for (service, of), sum_ in want.items() if of == kind}
