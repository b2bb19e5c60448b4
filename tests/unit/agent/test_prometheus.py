#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_prometheus.py - Debian's Prometheus reads all metrics, in OpenMetrics, and over our server; the queries and
alerts of docs/agent-metrics.md are ones that it understands."""
import http.server
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
PATIENCE = 60       # seconds for what takes one on an idle machine
CONFIG = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
- {{job_name: all, static_configs: [{{targets: ["127.0.0.1:{}"]}}]}}
- {{job_name: server, static_configs: [{{targets: ["127.0.0.1:{}"]}}]}}
"""


def page():
    for folder in HERE.parents:
        if (folder / "docs/agent-metrics.md").is_file():
            return (folder / "docs/agent-metrics.md").read_text(encoding="utf-8")
    raise FileNotFoundError("docs/agent-metrics.md")


def free_port():
    with http.server.HTTPServer(("127.0.0.1", 0), None) as server:
        return server.server_port


class AllMetrics(http.server.BaseHTTPRequestHandler):
    text = b""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.text)

    def log_message(self, *args):
        pass


@unittest.skipUnless(shutil.which("prometheus"), "there is no prometheus (Debian's package prometheus)")
class Prometheus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        AllMetrics.text = subprocess.run([HERE / "tests", "test_agent_metrics", "text", "open"], capture_output=True,
                                         check=True).stdout
        all_metrics = http.server.ThreadingHTTPServer(("127.0.0.1", 0), AllMetrics)
        threading.Thread(target=all_metrics.serve_forever, daemon=True).start()
        cls.addClassCleanup(all_metrics.server_close)
        cls.addClassCleanup(all_metrics.shutdown)
        program = subprocess.Popen([HERE / "metrics_program", "127.0.0.1:0"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, bufsize=1)
        cls.addClassCleanup(lambda: (program.stdin.close(), program.wait(PATIENCE), program.stdout.close()))
        program.stdin.write("figures\n")
        config = Path(cls.folder.name, "prometheus.yml")
        config.write_text(CONFIG.format(all_metrics.server_port, json.loads(program.stdout.readline())["port"]))
        port = free_port()
        cls.api = f"http://127.0.0.1:{port}"
        prometheus = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={cls.folder.name}/db",
                                       f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"])
        cls.addClassCleanup(lambda: (prometheus.kill(), prometheus.wait(PATIENCE)))

    def query(self, query):
        url = f"{self.api}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return json.load(answer)["data"]["result"]

    def until(self, query):
        """The query's first result that is not empty."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if found := self.query(query):
                    return found
            except (urllib.error.URLError, ConnectionError):
                pass    # it starts
            time.sleep(0.1)
        targets = urllib.request.urlopen(f"{self.api}/api/v1/targets", timeout=PATIENCE).read()
        self.fail(f"{query}: nothing in {PATIENCE} s: {targets}")

    def test_all_metrics(self):
        self.until('up{job="all"} == 1')
        text = AllMetrics.text.decode()
        samples = len(re.findall("^[a-z]", text, re.M))
        self.assertEqual(int(self.until('scrape_samples_scraped{job="all"} > 0')[0]["value"][1]), samples)
        services = {row["metric"]["service"] for row in self.until("tachbpf_python_threads")}
        self.assertEqual(services, {"web", 'a "b" \\ \ufffd\ufffd', "other"})

    def test_the_server(self):
        self.until('up{job="server"} == 1')
        rows = self.until("test_requests_total")
        self.assertEqual({row["metric"]["row"]: row["value"][1] for row in rows},
                         {"0": "1000", "1": "1001", "2": "1002"})

    def test_queries_of_the_page(self):
        self.until('up{job="all"} == 1')
        queries = [row.split("` ")[0].replace(r"\|", "|") for row in re.findall(r"^\| [^|`]+ \| `(.*)$", page(), re.M)
                   if "(" in row]
        self.assertGreater(len(queries), 10)
        for query in queries:
            with self.subTest(query=query):
                self.query(query)


if __name__ == "__main__":
    unittest.main()
