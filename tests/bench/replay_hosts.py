#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-collector: the output of many agents at one OpenTelemetry Collector.

Requests that an agent has sent (--bodies: files of OTLP, not compressed) are given to each of so many
hosts, with its own host.name, host.id and profile ids, and posted at the pace of its windows; a host has
one connection, and its windows are shifted against the others'. Printed: what the Collector took
of CPU and memory, how long it took to answer, what it handed on to a server behind it, and what failed.
"""
import argparse
import gzip
import http.client
import os
import random
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

sys.dont_write_bytecode = True
TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "servers"), str(TESTS / "e2e" / "lib")]

import recipes  # noqa: E402

sys.path.insert(0, recipes.path_of(recipes.Decoder()))

from http_sink import Answer, Sink  # noqa: E402
from otlp_decode import ExportProfilesServiceRequest  # noqa: E402
from processes import cpu_s  # noqa: E402
from services import Collector  # noqa: E402

PATH = "/v1development/profiles"
HEADERS = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}


def body_of(data, host):
    """A request as another host would send it, compressed."""
    m = ExportProfilesServiceRequest.FromString(data)
    name, ident = f"host-{host:05}.example", str(uuid.UUID(int=host + 1))
    for resource in m.resource_profiles:
        for attribute in resource.resource.attributes:
            if attribute.key in ("host.name", "host.id"):
                attribute.value.string_value = name if attribute.key == "host.name" else ident
        for scope in resource.scope_profiles:
            for profile in scope.profiles:
                profile.profile_id = os.urandom(16)
    return gzip.compress(m.SerializeToString(), 6)


class Host(threading.Thread):
    """Posts its requests once a window."""

    def __init__(self, port, bodies, start, window, windows):
        super().__init__(daemon=True)
        self.port, self.bodies, self.begin = port, bodies, start
        self.window, self.windows = window, windows
        self.took, self.failed, self.late = [], 0, 0.0

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        for turn in range(self.windows):
            at = self.begin + turn * self.window
            time.sleep(max(0, at - time.monotonic()))
            self.late = max(self.late, time.monotonic() - at)
            for body in self.bodies:
                self.post(connection, body)

    def post(self, connection, body):
        start = time.monotonic()
        try:
            connection.request("POST", PATH, body, HEADERS)
            answer = connection.getresponse()
            answer.read()
            self.failed += answer.status != 200
        except (OSError, http.client.HTTPException):
            self.failed += 1
            connection.close()
        self.took.append(time.monotonic() - start)


def memory_mib(pid, what):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(dict(line.split(":", 1) for line in lines)[what].split()[0]) / 1024


def count(lock, sums):
    """An answer function that keeps no body."""
    def answer(posted):
        with lock:
            sums[0] += 1
            sums[1] += len(posted.raw)
        posted.raw = b""
        return Answer()
    return answer


def replay(args, bodies):
    print(f"{args.hosts} hosts, a window of {args.window:g} s, {args.windows} windows; "
          f"{len(bodies)} requests a window", flush=True)
    per_host = [[body_of(b, host) for b in bodies] for host in range(args.hosts)]
    size = sum(len(b) for host in per_host for b in host)
    plain = sum(map(len, bodies)) * args.hosts
    sums, lock = [0, 0], threading.Lock()
    with tempfile.TemporaryDirectory(prefix="tachbpf-replay-") as directory, \
            Sink(count(lock, sums)) as sink, \
            Collector(Path(directory), Path(recipes.path_of(recipes.Collector()), "collector"),
                      sink.url, debug="basic") as collector:
        pid = collector.process.pid
        idle = memory_mib(pid, "VmRSS")
        start = time.monotonic() + 1
        turns = random.Random(7)
        hosts = [Host(collector.port, b, start + turns.random() * args.window, args.window,
                      args.windows) for b in per_host]
        before, clock = cpu_s(pid), time.monotonic()
        for host in hosts:
            host.start()
        for host in hosts:
            host.join()
        used, seconds = cpu_s(pid) - before, time.monotonic() - clock
        peak = memory_mib(pid, "VmHWM")
        end = time.monotonic() + 30
        expected = args.hosts * args.windows * len(bodies)
        while sums[0] < expected and time.monotonic() < end:
            time.sleep(0.1)
    report(args, hosts, size, plain, used, seconds, idle, peak, sums)


def report(args, hosts, size, plain, used, seconds, idle, peak, sums):
    took = sorted(t for host in hosts for t in host.took)
    posted, busy = len(took), args.window * args.windows
    print(f"a window of all hosts: {plain / 1e6:.2f} MB, {size / 1e6:.2f} MB compressed")
    print(f"posted: {posted} requests, {posted / busy:.1f} a second, {size * args.windows / busy / 1e6:.3f} "
          f"MB a second; failed: {sum(h.failed for h in hosts)}; at most "
          f"{max(h.late for h in hosts):.2f} s late")
    print(f"answered after: median {took[posted // 2] * 1e3:.1f} ms, 99 % "
          f"{took[posted * 99 // 100] * 1e3:.1f} ms, all {took[-1] * 1e3:.1f} ms")
    print(f"Collector: {used:.2f} s of CPU, {100 * used / busy:.2f} % of a CPU, "
          f"{1e3 * used / posted:.2f} ms a request, {1e3 * used / (plain * args.windows / 1e6):.2f} ms a "
          f"MB; RSS {idle:.0f} MiB idle, {peak:.0f} MiB at most")
    print(f"handed on: {sums[0]} requests, {sums[1] / 1e6:.2f} MB; missing: {posted - sums[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bodies", type=Path, required=True, help="a directory of files *.otlp")
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--window", type=float, default=15)
    parser.add_argument("--windows", type=int, default=4)
    args = parser.parse_args()
    bodies = [p.read_bytes() for p in sorted(args.bodies.glob("*.otlp"))]
    if not bodies:
        raise SystemExit(f"{args.bodies} has no *.otlp")
    replay(args, bodies)


if __name__ == "__main__":
    main()
