# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The agent as a process, targets that it finds in a cgroup of a test's own, and what it sent."""
import collections
import os
import select
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import cgroups
import noise
from notes import note
from otlp_decode import COUNT, Request
from paths import TARGETS, binary
from processes import TIMEOUT, kill
from recording import Recording

OTLP_PATH = "/v1development/profiles"
Spent = collections.namedtuple("Spent", "cpu_s slices")


def program():
    return binary().parent / "tachbpf-agent"


def free_port():
    """A port of 127.0.0.1 that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def without_otel():
    return {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}


class Agent(Recording):
    """`with Agent(directory, "--rate", 999)`: its spool, socket and port are its own."""

    def __init__(self, directory, *flags, env=None, prefix=(), cwd=None):
        self.directory, self.port = Path(directory), free_port()
        self.spool, self.socket = self.directory / "spool", self.directory / "ctl.sock"
        self.argv = [*map(str, (*prefix, program(), "--spool-dir", self.spool, "--ctl-socket",
                                self.socket, "--metrics-listen", f"127.0.0.1:{self.port}",
                                *flags))]
        self.log = self.directory / f"agent-{os.urandom(2).hex()}.log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True, cwd=cwd,
                                            env={**without_otel(), **(env or {})})
        self.noted = note(self.argv, pid=self.process.pid, files=[self.log])

    def wait(self, timeout=TIMEOUT):
        """Its exit status."""
        status = self.wait_alone(timeout)
        self.noted["exit"] = status
        return status

    def end(self, signum=signal.SIGTERM):
        """As systemd ends it."""
        status = self.stop(signum)
        assert status == 0, self.said()
        return self.said()

    def end_by(self, signum):
        self.process.send_signal(signum)
        assert self.wait() == -signum

    def said(self):
        return self.log.read_text(errors="replace")

    def wait_said(self, words, times=1, timeout=TIMEOUT):
        end = time.monotonic() + timeout
        while self.said().count(words) < times:
            assert self.process.poll() is None and time.monotonic() < end, self.said()
            time.sleep(0.02)

    def wait_processes(self, cnt, timeout=TIMEOUT):
        """Until so many are profiled."""
        end = time.monotonic() + timeout
        while self.metrics()["tachbpf_agent_processes"] < cnt:
            assert time.monotonic() < end, "the agent does not find the targets"
            time.sleep(0.05)

    def wait_until(self, condition, timeout=TIMEOUT):
        """Until it is true; what it asks may change at any time."""
        end = time.monotonic() + timeout
        while not condition():
            assert self.process.poll() is None and time.monotonic() < end, self.said()
            time.sleep(0.05)

    def metrics_text(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=TIMEOUT) as answer:
            return answer.read().decode()

    def metrics(self):
        """name{labels} -> value."""
        lines = (line for line in self.metrics_text().splitlines()
                 if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


class Target:
    """A Python in a cgroup that burns CPU when it is asked to. script: how its file is called."""

    def __init__(self, scratch, cgroup, script="spend.py", python="/usr/bin/python3", env=None,
                 options=()):
        self.path = Path(scratch, script)
        if not self.path.exists():
            shutil.copy(TARGETS / "spend.py", self.path)
        argv = cgroups.enter(cgroup, [python, *options, self.path])
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, start_new_session=True,
                                        env={**without_otel(), **(env or {})})
        note(argv, pid=self.process.pid)

    def __enter__(self):
        assert self.answer() == "ready"
        return self

    def __exit__(self, *_):
        kill(self.process)

    @property
    def pid(self):
        return self.process.pid

    def answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
        return self.process.stdout.readline().strip() if ready else "nothing in time"

    def begin(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()

    def done(self):
        """What the last begin() used."""
        cpu_s, slices = self.answer().split()
        return Spent(float(cpu_s), int(slices))

    def spend(self, seconds):
        self.begin(seconds)
        return self.done()


def bound_s(spent, rate, stolen=0.0):
    """What a profile may say of this CPU time, in seconds."""
    bound = noise.count_bound(spent.cpu_s, rate, missed=stolen * rate, slices=spent.slices)
    return noise.Bound(bound.low / rate, bound.high / rate)


# ---- what a sink has ----

def decoded(posted):
    """A posted request, decoded once."""
    if not hasattr(posted, "decoded"):
        assert posted.path == OTLP_PATH and posted.method == "POST"
        assert posted.headers["Content-Type"] == "application/x-protobuf"
        posted.decoded = Request(posted.body)
    return posted.decoded


def profiles(sink, service=None, kind=COUNT):
    """(attributes, profile) of all that was taken; time on a CPU is samples of the period."""
    for posted in sink.taken():
        for attributes, found in decoded(posted).resources:
            for profile in found:
                if service in (None, attributes["service.name"]) and kind in (None, profile["type"]):
                    yield attributes, profile


def sum_of(sink, service=None, kind=COUNT):
    """In ns."""
    return sum(value * (p["period"] if kind == COUNT else 1)
               for _, p in profiles(sink, service, kind) for _, value, _ in p["samples"])


def seconds_of(sink, service=None, kind=COUNT):
    return sum_of(sink, service, kind) / 1e9


def profile_ids(sink):
    return [p["id"] for _, p in profiles(sink, kind=None)]
