# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""OTLP by gRPC, judged by Google's own server (python3-grpcio): it knows nothing of profiles, only bytes."""
import concurrent.futures
import os
import subprocess
import threading

import pytest

import noise
import otlp_decode
from agent import bound_s

RATE = 999
METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
QUICK = ("--retry-initial", "100ms", "--retry-max", "200ms")


class Receiver:
    """answer: called with the number of a request, from 0, and its context, which it may abort."""

    def __init__(self, grpc, answer=lambda number, context: b"", max_bytes=4 << 20, certificate=None):
        self.answer, self.tried, self.taken, self.seen = answer, [], [], threading.Condition()
        receiver = self

        class Handler(grpc.GenericRpcHandler):
            def service(self, call):
                if call.method == METHOD:
                    return grpc.unary_unary_rpc_method_handler(receiver.take)
                return None
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), handlers=[Handler()],
                                  options=[("grpc.max_receive_message_length", max_bytes)])
        if certificate:
            pair = (certificate.with_suffix(".key").read_bytes(), certificate.read_bytes())
            self.port = self.server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
        else:
            self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self.port}"

    def take(self, request, context):
        with self.seen:
            number = len(self.tried)
            self.tried.append(request)
        out = self.answer(number, context)
        with self.seen:
            self.taken.append(request)
            self.seen.notify_all()
        return out

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop(0).wait()

    def seconds(self):
        return sum(value * p["period"] for body in list(self.taken) for _, found in otlp_decode.Request(body).resources
                   for p in found if p["type"] == otlp_decode.COUNT for _, value, _ in p["samples"]) / 1e9

    def wait(self, low):
        with self.seen:
            assert self.seen.wait_for(lambda: self.seconds() >= low, 120), self.seconds()


@pytest.fixture
def grpc(absent):
    try:
        import grpc
    except ImportError:
        absent("grpcio is not installed: apt-get install python3-grpcio")
    return grpc


def sent(rig, receiver, *flags):
    """Profiles a Python. Returns what it may have used, when the receiver has it all, and the agent's log."""
    stolen = noise.stolen_s()
    started = rig.start("--rate", RATE, "--otlp-endpoint", receiver.url, "--otlp-protocol", "grpc", *QUICK, *flags)
    spent = rig.target().spend(1.5)
    bound = bound_s(spent, RATE, noise.stolen_s() - stolen)
    receiver.wait(bound.low)
    return bound, started.end()


@pytest.mark.parametrize("compression", ("gzip", "none"))
def test_windows(rig, grpc, compression):
    with Receiver(grpc) as receiver:
        bound, _ = sent(rig, receiver, "--otlp-compression", compression)
        assert receiver.seconds() in bound
        assert len(receiver.tried) == len(receiver.taken)


def test_tls(rig, grpc, tmp_path):
    certificate = tmp_path / "server.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "9", "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                    certificate.with_suffix(".key"), "-out", certificate], check=True, capture_output=True)
    with Receiver(grpc, certificate=certificate) as receiver:
        bound, _ = sent(rig, receiver, "--otlp-ca-file", certificate)
        assert receiver.seconds() in bound


@pytest.mark.parametrize("code", ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL", "UNAUTHENTICATED"))
def test_it_tries_again(rig, grpc, code):
    def answer(number, context):
        if number < 2:
            context.abort(getattr(grpc.StatusCode, code), "nicht jetzt: später")
        return b""
    with Receiver(grpc, answer) as receiver:
        bound, said = sent(rig, receiver)
        assert receiver.seconds() in bound
        assert f"{code}: nicht jetzt: später" in said


def test_refused(rig, grpc):
    def answer(number, context):
        if not number:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "bad stack")
        return b""
    with Receiver(grpc, answer) as receiver:
        started = rig.start("--rate", RATE, "--otlp-endpoint", receiver.url, "--otlp-protocol", "grpc", *QUICK)
        rig.target().spend(2.5)
        started.wait_said("INVALID_ARGUMENT: bad stack")
        with receiver.seen:
            assert receiver.seen.wait_for(lambda: receiver.taken, 120)
        started.end()
        assert receiver.tried[0] not in receiver.taken


def test_too_large_is_split(rig, grpc):
    with Receiver(grpc, max_bytes=3000) as receiver:
        stolen = noise.stolen_s()
        started = rig.start("--rate", RATE, "--otlp-endpoint", receiver.url, "--otlp-protocol", "grpc",
                            "--otlp-compression", "none", *QUICK)
        targets = [rig.target(f"service-{i}.py") for i in range(8)]
        for target in targets:
            target.begin(0.3)
        spent = [target.done() for target in targets]
        receiver.wait(sum(bound_s(s, RATE, noise.stolen_s() - stolen).low for s in spent))
        started.end()


def test_the_ecosystems_variables(rig, grpc):
    with Receiver(grpc) as receiver:
        started = rig.start("--rate", RATE, env={"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
                                                 "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url})
        spent = rig.target().spend(1)
        receiver.wait(bound_s(spent, RATE, 0.5).low)
        started.end()


def test_a_server_that_does_not_speak_it(rig, sink):
    """An HTTP/1 server says something else, and nothing is lost."""
    started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url, "--otlp-protocol", "grpc", *QUICK)
    rig.target().spend(1)
    started.wait_said("does not accept requests")
    started.end()
    assert len(os.listdir(started.spool)) > 0
