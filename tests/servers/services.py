# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Servers that others made, as processes: started, awaited, ended; what they said is kept."""
import contextlib
import json
import subprocess
import time
import urllib.parse
import urllib.request

from agent import free_port
from notes import note
from processes import TIMEOUT, kill


class Service:
    """A server; `with` starts it and waits until its log says `ready`."""
    ready = ""

    def __init__(self, directory):
        self.directory, self.port = directory, free_port()
        self.url, self.log = f"http://127.0.0.1:{self.port}", directory / "log"

    def argv(self):
        raise NotImplementedError

    def __enter__(self):
        argv = [*map(str, self.argv())]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=self.directory, start_new_session=True)
        note(argv, pid=self.process.pid, files=[self.log])
        with contextlib.ExitStack() as stack:
            stack.callback(kill, self.process)
            self.wait_said(self.ready)
            stack.pop_all()
        return self

    def __exit__(self, *_):
        kill(self.process)

    def said(self):
        return self.log.read_text(errors="replace")

    def wait_said(self, words, timeout=TIMEOUT):
        end = time.monotonic() + timeout
        while words not in self.said():
            assert self.process.poll() is None, f"it ended: {self.said()[-4000:]}"
            assert time.monotonic() < end, f"it does not say {words!r}: {self.said()[-4000:]}"
            time.sleep(0.02)


def messages_of(stream):
    """Of what the Collector's file exporter writes; what does not fit is left out."""
    found = []
    while len(stream) > 4:
        end = 4 + int.from_bytes(stream[:4], "big")
        found.append(stream[4:end])
        stream = stream[end:]
    return found


class Collector(Service):
    """The OpenTelemetry Collector: takes OTLP over HTTP and gRPC, prints it (debug), forwards it, and keeps it in a file."""
    ready = "Everything is ready"

    def __init__(self, directory, program, forward_to, debug="detailed"):
        super().__init__(directory)
        self.program, self.forward_to, self.debug = program, forward_to, debug
        self.grpc = free_port()
        self.kept = self.directory / "profiles.otlp"

    def config(self):
        return f"""
receivers:
  otlp:
    protocols:
      http: {{endpoint: "127.0.0.1:{self.port}"}}
      grpc: {{endpoint: "127.0.0.1:{self.grpc}"}}
exporters:
  debug: {{verbosity: {self.debug}, use_internal_logger: false}}
  otlp_http: {{endpoint: "{self.forward_to}", retry_on_failure: {{enabled: false}}}}
  file: {{path: "{self.kept}", format: proto, flush_interval: 20ms}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    profiles: {{receivers: [otlp], exporters: [debug, otlp_http, file]}}
"""

    def wait_kept(self, bodies):
        """The part of the file that has these messages, in any order, once they are the last ones."""
        size = sum(4 + len(body) for body in bodies)
        end = time.monotonic() + TIMEOUT
        while True:
            last = self.kept.read_bytes()[-size:] if self.kept.exists() else b""
            if sorted(messages_of(last)) == sorted(bodies):
                return last
            assert time.monotonic() < end, f"{self.kept} does not end with the {len(bodies)} messages"
            time.sleep(0.02)

    def argv(self):
        path = self.directory / "collector.yaml"
        path.write_text(self.config())
        return [self.program, "--config", path, "--feature-gates=service.profilesSupport"]


class Prometheus(Service):
    """Scrapes one target each second."""
    ready = "Server is ready to receive web requests"

    def __init__(self, directory, target):
        super().__init__(directory)
        self.target = target

    def argv(self):
        path = self.directory / "prometheus.yml"
        path.write_text(f"""
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
- job_name: tachbpf-agent
  static_configs: [{{targets: ["{self.target}"]}}]
""")
        return ["prometheus", f"--config.file={path}", f"--storage.tsdb.path={self.directory}/data",
                f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=info"]

    def ask(self, kind, **parameters):
        url = f"{self.url}/api/v1/{kind}?" + urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(url, timeout=60) as answer:
            said = json.load(answer)
        assert said["status"] == "success", said
        return said["data"]["result"]

    def query(self, expression):
        return self.ask("query", query=expression)

    def query_range(self, expression, begin, end):
        """In each second."""
        return self.ask("query_range", query=expression, start=begin, end=end, step=1)
