#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_metrics_server.py - the server of metrics with clients on 127.0.0.1, most of them bad ones."""
import json
import os
import re
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
PROGRAM = Path(__file__).resolve().parent / "metrics_program"
CONNECTIONS, TEXT_MAX = 256, 4 << 20
PATIENCE = 60       # seconds for what takes a tenth on an idle machine
OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"}


class Answer:
    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("ascii").split("\r\n")
        self.status = int(first.split()[1]) if first else None
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}


class MetricsServer(unittest.TestCase):
    keeper = []

    def setUp(self):
        self.start()

    def start(self, *hosts, address="127.0.0.1:0"):
        self.program = subprocess.Popen([PROGRAM, address, *self.keeper, *hosts], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)
        self.port = self.do("figures")["port"]

    def tearDown(self):
        self.program.stdin.close()
        self.assertEqual(self.program.wait(PATIENCE), 0)
        self.program.stdout.close()
        self.program.stderr.close()

    def do(self, command):
        self.program.stdin.write(command + "\n")
        return json.loads(self.program.stdout.readline())

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(self, request):
        """What the server says until it ends the connection; what it resets counts as its end."""
        parts = []
        with self.connect() as client:
            try:
                client.sendall(request)
                while part := client.recv(65536):
                    parts.append(part)
            except (ConnectionResetError, BrokenPipeError):
                pass
        return Answer(b"".join(parts))

    def get(self, path="/metrics", method="GET", headers=()):
        lines = [f"{method} {path} HTTP/1.1", *(f"{n}: {v}" for n, v in {"Host": "localhost", **dict(headers)}.items())]
        return self.ask("\r\n".join([*lines, "", ""]).encode())

    def check_works(self, pid=None):
        answer = self.get()
        self.assertEqual(answer.status, 200)
        self.assertIn(b'test_requests_total{row="0"} 1000\n', answer.body)
        if pid:
            self.assertEqual(self.do("figures")["pid"], pid)

    def test_metrics(self):
        answer = self.get("/metrics?x=y")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertEqual(int(answer.headers["content-length"]), len(answer.body))
        self.assertTrue(answer.body.startswith(b"# HELP test_requests_total "))
        answer = self.get(headers=OPENMETRICS)
        self.assertEqual(answer.headers["content-type"],
                         "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.assertTrue(answer.body.endswith(b"# EOF\n"))

    def test_head(self):
        answer = self.get(method="HEAD")
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertGreater(int(answer.headers["content-length"]), 0)

    def test_other_paths(self):
        for path, status in (("/", 200), ("/-/healthy", 200), ("/-/ready", 200), ("/metrics/", 404), ("/../etc/passwd", 404),
                             ("/%2e%2e/x", 404), ("/favicon.ico", 404)):
            with self.subTest(path=path):
                self.assertEqual(self.get(path).status, status)
        self.assertIn(b'href="metrics"', self.get("/").body)

    def test_other_methods(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "X"):
            with self.subTest(method=method):
                answer = self.get(method=method)
                self.assertEqual((answer.status, answer.headers["allow"]), (405, "GET, HEAD"))
        answer = self.ask(b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc")
        self.assertEqual(answer.status, 405)

    def test_nobody_is_kept(self):
        """HTTP/1.1 without "Connection: close", and 1.0: one request each."""
        self.assertEqual(self.get().headers["connection"], "close")
        self.assertEqual(self.ask(b"GET /metrics HTTP/1.0\r\n\r\n").status, 200)

    def test_garbage(self):
        self.check_works()
        pid = self.do("figures")["pid"]
        random = os.urandom(5000).replace(b"\n", b"x")
        for request in (b"\r\n\r\n\r\n", b"\0" * 1000 + b"\r\n\r\n", random + b"\r\n\r\n",
                        b"GET\r\n\r\n", b"GET /metrics\r\n\r\n", b"GET /metrics HTTP/9.9\r\n\r\n",
                        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500) + b"\r\n\r\n",
                        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"):
            with self.subTest(request=request[:40]), self.connect() as client:
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
                try:
                    while client.recv(65536):
                        pass
                except ConnectionResetError:
                    pass
        self.check_works(pid)

    def test_requests_are_bounded(self):
        self.check_works()
        pid = self.do("figures")["pid"]
        for request in (b"GET /" + b"x" * (1 << 20) + b" HTTP/1.1\r\n\r\n",
                        b"GET /metrics HTTP/1.1\r\nX: " + b"y" * (1 << 20) + b"\r\n\r\n",
                        b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 100000 + b"\r\n"):
            with self.subTest(request=request[:30]):
                self.assertIn(self.ask(request).status, (None, 400, 413, 414, 431))
        self.check_works(pid)

    def test_byte_by_byte(self):
        with self.connect() as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n":
                client.sendall(bytes([byte]))
            self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 200 "))

    def test_a_hundred_at_once(self):
        clients = [self.connect() for _ in range(100)]
        for client in clients:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        begin = time.monotonic()
        for client in clients:
            with client:
                self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 200 "))
        figures = self.do("figures")
        # One text a second.
        self.assertLessEqual(figures["texts"], 2 + time.monotonic() - begin)
        self.assertEqual(figures["lost"], 0)

    def test_ready(self):
        self.assertEqual(self.get("/-/ready").status, 200)
        self.do("unready")
        while (answer := self.get("/-/ready")).status == 200:   # an answer counts for a second
            pass
        self.assertEqual((answer.status, answer.body), (503, b"No server accepts profiles.\n"))
        self.assertEqual(self.get("/-/healthy").status, 200)
        self.check_works()

    def test_silent_clients_are_ended(self):
        silent = [self.connect() for _ in range(20)]
        for client in silent[::2]:
            client.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        for client in silent:
            with client:
                try:
                    self.assertNotIn(b" 200 ", client.recv(100))
                except ConnectionResetError:
                    pass
        self.check_works()

    def test_a_thousand_idle_connections(self):
        """They ask for nothing, or for half of it, and come back as soon as they are ended: each scrape gets in."""
        self.check_works()
        pid, end, came = self.do("figures")["pid"], threading.Event(), []

        def hold():
            with selectors.DefaultSelector() as held:
                def more():
                    client = socket.socket()
                    client.setblocking(False)
                    client.connect_ex(("127.0.0.1", self.port))
                    held.register(client, selectors.EVENT_READ)
                for _ in range(1000):
                    more()
                while not end.is_set():
                    for key, _ in held.select(0.05):
                        try:
                            gone = not key.fileobj.recv(10)
                        except OSError:
                            gone = True
                        if gone:
                            held.unregister(key.fileobj)
                            key.fileobj.close()
                            more()
                            came.append(1)
                for key in list(held.get_map().values()):
                    key.fileobj.close()
        holder = threading.Thread(target=hold)
        holder.start()
        try:
            while len(came) < 1000:
                self.check_works()
                self.assertEqual(self.get("/-/healthy").status, 200)
        finally:
            end.set()
            holder.join()
        self.check_works(pid)

    def test_who_asks_and_does_not_read_makes_room(self):
        self.do("rows 200000")
        self.get()
        slow = []
        while len(slow) < 2 * CONNECTIONS:      # after a second, the first ones make room
            slow.append(self.connect())
            slow[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(self.get("/-/healthy").status, 200)
        for client in slow:
            client.close()

    def test_host(self):
        """A page of a browser that calls itself by our address (DNS rebinding) gets nothing."""
        def status(host):
            return self.get("/-/healthy", headers={"Host": host}).status
        for host in ("localhost", "LocalHost:9419", "localhost.", "127.0.0.1:9419", "10.1.2.3", "[::1]:9419", "[fe80::1]"):
            self.assertEqual(status(host), 200, host)
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::1", "x" * 300, "::1"):
            self.assertEqual(status(host), 200 if host == "[::1" else 403, host)
        self.assertIn(b"metrics.hosts", self.get("/metrics", headers={"Host": "evil.example"}).body)
        self.tearDown()
        self.start("metrics.example", "node-7")
        for host, want in (("node-7:9419", 200), ("Metrics.Example", 200), ("node-77", 403), ("localhost", 200)):
            self.assertEqual(status(host), want, host)
        self.tearDown()
        self.start(address="0.0.0.0:0")         # others may connect, by any name
        self.assertEqual(status("whatever"), 200)

    def test_who_does_not_read_holds_up_nobody(self):
        text = self.do("rows 200000") and self.get().body
        figures = self.do("figures")
        self.assertGreater(len(text), TEXT_MAX - 1000)
        self.assertLessEqual(len(text), TEXT_MAX)
        self.assertTrue(text.endswith(b"\n"))
        self.assertEqual(figures["left_out"], 200000 - (text.count(b"\n") - 2))
        slow = [self.connect() for _ in range(14)]
        for client in slow:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for client in slow:
            self.assertTrue(client.recv(20).startswith(b"HTTP/1.1 200 "))
        # The main process goes on, and other clients are served.
        self.assertEqual(self.do("figures")["pid"], figures["pid"])
        self.check_works(figures["pid"])
        for client in slow:
            client.close()
        self.check_works(figures["pid"])

    def test_a_main_process_that_does_not_answer(self):
        self.check_works()
        self.do("hold")
        # The last text counts for a second.
        while (answer := self.get()).status == 200:
            pass
        self.assertEqual(answer.status, 503)
        self.assertEqual(self.get("/-/healthy").status, 200)
        self.do("go")
        self.check_works()

    def test_a_killed_worker_is_replaced(self):
        self.check_works()
        pid = self.do("figures")["pid"]
        os.kill(pid, signal.SIGKILL)
        self.check_works()      # it waits until there is another one
        figures = self.do("figures")
        self.assertNotEqual(figures["pid"], pid)
        self.assertEqual(figures["lost"], 1)

    def test_the_worker_ends_with_the_main_process(self):
        self.check_works()
        worker = os.pidfd_open(self.do("figures")["pid"])
        self.program.kill()
        self.assertTrue(select.select([worker], [], [], PATIENCE)[0])
        os.close(worker)
        self.program.wait()
        self.program.returncode = 0

    def test_a_place_that_is_taken(self):
        again = subprocess.run([PROGRAM, f"127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertRegex(again.stderr, f"cannot serve metrics at 127.0.0.1:{self.port}: Address already in use; "
                                       "metrics.listen")


class MetricsServerOfKeeper(MetricsServer):
    keeper = ["keeper"]
    # Ten seconds each, and the same without a keeper.
    test_garbage = test_silent_clients_are_ended = None


class Addresses(unittest.TestCase):
    def test_addresses(self):
        for address, connects in (("127.0.0.1:0", ["127.0.0.1"]), ("localhost:0", ["127.0.0.1"]),
                                  (":0", ["127.0.0.1"]), ("[::1]:0", ["::1"]), ("0.0.0.0:0", ["127.0.0.1"])):
            with self.subTest(address=address):
                program = subprocess.Popen([PROGRAM, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True)
                out, err = program.communicate("figures\n")
                if re.search("Cannot assign requested address|Address family not supported", err):
                    self.skipTest("no IPv6 here")
                self.assertEqual(program.returncode, 0, err)
                self.assertGreater(json.loads(out)["port"], 0)

    def test_what_is_no_address(self):
        for address in ("", "9419", "host:1", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:-1", "[::1:1", "[]:1",
                        "127.0.0.1:1x", "x" * 100 + ":1"):
            with self.subTest(address=address):
                done = subprocess.run([PROGRAM, address], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                      check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn("Invalid argument", done.stderr)


if __name__ == "__main__":
    unittest.main()
