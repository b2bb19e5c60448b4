#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_delivery.py - the spool and the sender with real servers on 127.0.0.1, most of them bad ones.

delivery_program does what each test says; its clock is put forward where a delivery would pause.
"""
import ctypes
import email.utils
import gzip
import json
import os
import select
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
PROGRAM = Path(__file__).resolve().parent / "delivery_program"
CLONE_NEWNS, CLONE_NEWNET, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x40000000, 4096, 16384, 1 << 18
OTLP = "v1development/profiles"
LOST = ("spool_full", "memory_full", "refused", "too_old", "too_large", "damaged")
libc = ctypes.CDLL(None, use_errno=True)
alone = False       # in a network and mounts of our own


def setUpModule():
    global alone
    alone = not libc.unshare(CLONE_NEWNS | CLONE_NEWNET)
    if alone:
        libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


class Server:
    """Gives each connection to a function; `seen` has the requests that it has read."""

    def __init__(self, answer, tls=None, port=0):
        self.answer, self.tls, self.seen, self.connections = answer, tls, [], 0
        self.lock, self.open = threading.Lock(), []
        self.socket = socket.create_server(("127.0.0.1", port), backlog=64)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
                self.open.append(connection)
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection:
                while request := self.read(connection):
                    if self.answer(self, connection, request) is not True:
                        break
        except OSError:
            pass

    def read(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            part = connection.recv(65536)
            if not part:
                return None
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        while len(body) < int(headers["content-length"]):
            body += connection.recv(65536)
        request = {"line": lines[0], "headers": headers, "body": body}
        with self.lock:
            self.seen.append(request)
            request["number"] = len(self.seen)
        return request

    def numbers(self):
        """Which requests came, in their order: a payload begins with its number."""
        return [int(r["body"].split()[0]) for r in self.seen]

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        for connection in self.open:
            connection.close()


def reply(status, body=b"", *headers):
    """An answer, for a connection that is kept."""
    def answer(server, connection, request):
        lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}", *headers]
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return True
    return answer


def in_turn(*answers):
    """The first request gets the first answer, and all after the last one the last."""
    return lambda server, connection, request: answers[min(request["number"], len(answers)) - 1](
        server, connection, request)


def raw(data):
    return lambda server, connection, request: connection.sendall(data)


def silent(server, connection, request):
    connection.recv(1)      # until the other end is closed


def endless(first):
    def answer(server, connection, request):
        connection.sendall(first)
        while True:
            connection.sendall(b"x" * 65536)
    return answer


class Program:
    def __init__(self, spool, *args, env=None):
        self.process = subprocess.Popen([PROGRAM, spool, *args], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **(env or {})})

    def __call__(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        out = self.process.stdout.readline()
        if not out:
            raise AssertionError(f"{line}: {self.process.stderr.read()}")
        return json.loads(out)

    def end(self):
        """Returns what it has logged."""
        out, err = self.process.communicate()
        if self.process.returncode:
            raise AssertionError(f"status {self.process.returncode}: {err}")
        return err

    def kill(self):
        self.process.kill()
        self.process.communicate()


class TestCase(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="tachbpf-delivery-")
        self.addCleanup(subprocess.run, ["rm", "-rf", self.dir], check=True)
        self.spool = self.dir + "/spool"

    def server(self, answer, **how):
        server = Server(answer, **how)
        self.addCleanup(server.close)
        return server

    def program(self, *exporters, spool=None, opened="open", env=None, args=()):
        program = Program(spool or self.spool, *args, env=env)
        self.addCleanup(program.kill)
        for e in exporters:
            self.assertEqual(program("exporter " + e), 0)
        if opened:
            self.assertEqual(program(opened), 0)
        return program

    def otlp(self, server, *more, name="o", scheme="http"):
        return " ".join([name, "otlp", f"{scheme}://127.0.0.1:{server.port}/{OTLP}", *more])

    def figures(self, program, index=0, lost=0):
        """Each request is somewhere, once."""
        f = program(f"figures {index}")
        self.assertEqual(f["offered"] + f["found"], f["sent"] + f["split"] + f["waiting"]
                         + f["in_flight"] + sum(f[cause] for cause in LOST), f)
        self.assertEqual(f["senders_lost"], lost, f)
        return f

    def until(self, program, what):
        self.assertEqual(program("until " + what), 0, what)


class TestServers(TestCase):
    def test_sent(self):
        server = self.server(reply(200))
        for args in ((), ("keeper",)):
            with self.subTest(args=args):
                server.seen.clear()
                server.connections = 0
                p = self.program(self.otlp(server, "bearer=secret", "headers=X-Scope-OrgID:7"), args=args)
                for n in range(3):
                    p("offer 0 1000 5")
                    self.until(p, f"sent {n + 1}")
                f = self.figures(p)
                self.assertEqual((f["sent_samples"], f["sent_weight"], f["sent_bytes"], f["spooled"]),
                                 (15, 150, 3000, 3))
                self.assertEqual(f["spool_entries"], 0)
                self.assertEqual(server.numbers(), [0, 1, 2])
                self.assertEqual(server.connections, 1)      # kept
                request = server.seen[0]
                self.assertEqual(request["line"], f"POST /{OTLP} HTTP/1.1")
                for name, value in {"content-type": "application/x-protobuf", "content-encoding": "gzip",
                                    "authorization": "Bearer secret", "x-scope-orgid": "7"}.items():
                    self.assertEqual(request["headers"][name], value)
                self.assertNotIn("accept-encoding", request["headers"])
                self.assertNotIn("expect", request["headers"])
                pid = p("pid")
                self.assertNotIn(b"secret", Path(f"/proc/{pid}/cmdline").read_bytes())
                if os.geteuid():        # nobody but root may look
                    self.assertRaises(PermissionError, Path(f"/proc/{pid}/environ").read_bytes)
                else:
                    self.assertNotIn(b"secret", Path(f"/proc/{pid}/environ").read_bytes())
                p.kill()

    def test_basic_authentication_and_pyroscope(self):
        server = self.server(reply(200))
        p = self.program(f"p pyroscope http://127.0.0.1:{server.port}/ user=u password=p:q")
        p("offer 0 10 1")
        self.until(p, "sent 1")
        self.assertEqual(server.seen[0]["line"], "POST /push.v1.PusherService/Push HTTP/1.1")
        self.assertEqual(server.seen[0]["headers"]["authorization"], "Basic dTpwOnE=")

    def test_unavailable_then_ok(self):
        server = self.server(in_turn(reply(503, b"wait"), reply(502), reply(504), reply(200)))
        p = self.program(self.otlp(server, "pause_ms=100000", "pause_max_ms=300000"))
        p("offer 0 100 1")
        for n in range(1, 4):
            self.until(p, f"status {n}")
            f = self.figures(p)
            self.assertEqual((f["waiting"], f["retried"], f["failures_in_row"]), (n, n, n))
            most = min(100000 << (n - 1), 300000)
            self.assertLessEqual(f["next_ms"], most)
            self.assertGreater(f["next_ms"], most / 2 - 30000)
            p("offer 0 100 1")
            p("skip 300000")
        self.until(p, "sent 4")
        self.assertEqual(server.numbers()[:4], [0, 0, 0, 0])         # the oldest goes first,
        self.assertEqual(sorted(server.numbers()[4:]), [1, 2, 3])    # then several at once
        f = self.figures(p)
        self.assertEqual((f["spool_entries"], f["spooled"], f["failures_in_row"]), (0, 4, 0))

    def test_retry_after(self):
        soon = email.utils.formatdate(time.time() + 1800, usegmt=True)
        for value, least, most in (("120", 119000, 120000), (soon, 1700000, 1800000),
                                   ("999999999", 3599000, 3600000), ("-5", 0, 60000), ("x", 0, 60000),
                                   ("99999999999999999999999", 0, 3600000)):
            with self.subTest(value=value):
                server = self.server(in_turn(reply(429, b"", "Retry-After: " + value), reply(200)))
                p = self.program(self.otlp(server))
                p("offer 0 10 1")
                self.until(p, "status 1")
                ms = self.figures(p)["next_ms"]
                self.assertTrue(least <= ms <= most, ms)
                p("skip 3600000")
                self.until(p, "sent 1")
                p.kill()

    def test_refused(self):
        bad = b"\x1b[31mbad\r\n\xff" + b"y" * 5000
        server = self.server(in_turn(*[reply(400, bad)] * 4, reply(200)))
        p = self.program(self.otlp(server))
        for n in range(1, 5):
            p("offer 0 10 3")
            self.until(p, f"refused {n}")
            f = self.figures(p)
            self.assertEqual((f["waiting"], f["failures_in_row"], f["last_status"]), (0, 0, 400))
            self.assertTrue(f["last_text"].startswith("_x1b[31mbad_x0d_x0a_xffyyy"), f)
            self.assertLessEqual(len(f["last_text"]), 200)
        p("skip 600001")
        p("offer 0 10 3")
        self.until(p, "sent 1")
        self.assertEqual(p.end().count("status 400"), 1)

    def test_what_a_server_can_recover_from_is_kept(self):
        """Answers of a Pyroscope that is not ready, and what somebody can change: 401, 404, a redirection."""
        for status, body in ((500, b'{"code":"unavailable"}'), (422, b"code = Unavailable desc = x"), (408, b""),
                             (401, b""), (403, b""), (404, b""), (307, b"")):
            with self.subTest(status):
                server = self.server(in_turn(*[reply(status, body)] * 3, reply(200)))
                p = self.program(self.otlp(server, "transfers=1", "pause_ms=1000", "pause_max_ms=300000"))
                for _ in range(3):
                    p("offer 0 10 1")
                for n in range(1, 4):
                    self.until(p, f"status {n}")
                    if status in (401, 403, 404, 307):      # not soon, and not with all that wait
                        self.assertGreater(self.figures(p)["next_ms"], 200000)
                        self.assertEqual(self.figures(p)["in_flight"], 0)
                    p("skip 300000")
                self.until(p, "sent 3")
                self.figures(p)
                p.kill()

    def test_too_old(self):
        down = Server(silent)
        down.close()
        p = self.program(self.otlp(down), opened="open 0 0 1")
        p("offer 0 10 7")
        self.until(p, "connect 1")
        self.until(p, "too_old 1")
        self.assertEqual(self.figures(p)["spool_entries"], 0)

    def test_too_old_of_an_exporter_that_is_not_configured(self):
        down = Server(silent)
        down.close()
        p = self.program(self.otlp(down))
        p("offer 0 10 7")
        self.until(p, "connect 1")
        self.assertEqual(self.figures(p)["spool_entries"], 1)
        p.kill()
        p = self.program(self.otlp(down, name="other"), opened="open 0 0 1")
        p("skip 1000")
        self.assertEqual(self.figures(p)["spool_entries"], 0)
        p("close")
        self.assertIn("1 requests with 7 samples were dropped", p.end())

    def test_the_message_of_an_error(self):
        status = b"\x08\x03\x12\x09bad stack"       # google.rpc.Status
        p = self.program(self.otlp(self.server(reply(400, status))))
        p("offer 0 10 3")
        self.until(p, "refused 1")
        self.assertEqual(self.figures(p)["last_text"], "bad stack")

    def test_partial_success(self):
        part = b"\x08\x07\x12\x06no: 7!"
        body = b"\x0a" + bytes([len(part)]) + part
        server = self.server(in_turn(reply(200, body), reply(200, b"\x0a\xff\xff"), reply(200)))
        p = self.program(self.otlp(server))
        for n in range(1, 4):
            p("offer 0 10 9")
            self.until(p, f"sent {n}")
        f = self.figures(p)
        self.assertEqual((f["rejected_profiles"], f["last_text"]), (7, "no: 7!"))

    def test_a_server_that_rejects_more_than_there_is(self):
        part = b"\x08" + b"\xff" * 8 + b"\x7f"        # 2^63 - 1 profiles
        body = b"\x0a" + bytes([len(part)]) + part
        p = self.program(self.otlp(self.server(reply(200, body))))
        for n in range(1, 4):
            p("offer 0 10 30")
            self.until(p, f"sent {n}")
        self.assertEqual(self.figures(p)["rejected_profiles"], 90)

    def test_too_large(self):
        def answer(server, connection, request):
            return reply(413 if len(request["body"]) > 300 else 200)(server, connection, request)
        p = self.program(self.otlp(self.server(answer)))
        p("offer 0 1000 9")
        self.until(p, "sent 4")
        f = self.figures(p)
        self.assertEqual((f["split"], f["sent_samples"], f["too_large"]), (3, 9, 0))

    def test_too_large_in_any_size(self):
        p = self.program(self.otlp(self.server(reply(413))))
        p("offer 0 4 9")
        self.until(p, "too_large 4")
        self.assertEqual(self.figures(p)["split"], 3)

    def test_redirections_are_not_followed(self):
        other = self.server(reply(200))
        server = self.server(reply(307, b"", f"Location: http://127.0.0.1:{other.port}/"))
        p = self.program(self.otlp(server))
        p("offer 0 10 1")
        self.until(p, "retried 1")
        self.figures(p)
        self.assertEqual(other.connections, 0)

    def test_proxy(self):
        proxy = self.server(reply(200))
        url = f"http://127.0.0.1:{proxy.port}"
        for how, env in ((f"proxy={url}", {}), ("", {"http_proxy": url})):
            with self.subTest(how=how, env=env):
                proxy.seen.clear()
                p = self.program(f"o otlp http://collector.invalid/x {how}", env=env)
                p("offer 0 10 1")
                self.until(p, "sent 1")
                self.assertEqual(proxy.seen[0]["line"], "POST http://collector.invalid/x HTTP/1.1")
                p.kill()

    def test_a_proxy_that_refuses(self):
        proxy = self.server(reply(407, b"who are you?"))
        proxy.read = lambda connection: connection.recv(4096) and {"number": 1}
        p = self.program(f"o otlp https://collector.invalid/x proxy=http://127.0.0.1:{proxy.port}")
        p("offer 0 10 1")
        self.until(p, "retried 1")
        self.assertEqual(self.figures(p)["last_status"], 0)

    def test_descriptors_and_memory_are_given_back(self):
        server = self.server(in_turn(*[reply(200), reply(503), raw(b""), reply(400)] * 20, reply(200)))
        p = self.program(self.otlp(server))
        p("offer 0 10 1")
        self.until(p, "sent 1")

        def files():
            return [len(os.listdir(f"/proc/{pid}/fd")) for pid in (p.process.pid, p("pid"))]
        before = files()
        for n in range(1, 300):
            p("offer 0 1000 1")
        while (f := self.figures(p))["waiting"] + f["in_flight"]:
            if f["in_flight"]:
                time.sleep(0.001)
            p(f"skip {0 if f['in_flight'] else 60000}")
        after = files()
        self.assertEqual(after[0], before[0])
        self.assertLessEqual(after[1], before[1] + 4)       # connections that are kept

    def test_several_at_once(self):
        all_there = threading.Barrier(3, timeout=600)

        def answer(server, connection, request):
            all_there.wait()
            return reply(200)(server, connection, request)
        p = self.program(self.otlp(self.server(answer), "transfers=3"))
        for _ in range(6):
            p("offer 0 10 1")
        self.assertEqual(self.figures(p)["in_flight"], 3)
        self.until(p, "sent 6")
        self.figures(p)

    def test_a_request_that_is_always_refused_lets_others_go_first(self):
        for status in (503, 429, 422, 401):
            with self.subTest(status):
                def answer(server, connection, request):
                    bad = request["body"].startswith(b"0 ")
                    return reply(status if bad else 200)(server, connection, request)
                server = self.server(answer)
                p = self.program(self.otlp(server, "transfers=1"), spool=f"{self.spool}-{status}")
                for _ in range(4):
                    p("offer 0 10 1")
                for n in range(1, 6):
                    self.until(p, f"status {n}")
                    p("skip 60000")
                self.until(p, "sent 3")
                # The server is well: it gets what is new at once, and the refused one after longer and longer.
                self.until(p, "status 6")
                tries = []
                for n in range(4, 64):
                    p("skip 60000")
                    p("offer 0 10 1")
                    self.until(p, f"sent {n}")
                    tries.append(self.figures(p)["status"])
                self.assertLess(tries[-1], 20)
                self.assertGreater(tries[-1], 8)
                f = self.figures(p)
                self.assertEqual(f["waiting"] + f["in_flight"], 1)
                self.assertEqual(p.end().count("does not accept"), 1)

    def test_a_server_that_flaps_is_logged_once(self):
        server = self.server(in_turn(*[reply(503), reply(200)] * 20, *[reply(503)] * 9, reply(200)))
        p = self.program(self.otlp(server, "transfers=1", "pause_ms=1000", "pause_max_ms=20000"))
        for n in range(1, 21):
            p("offer 0 10 1")
            self.until(p, f"status {n}")
            p("skip 1000")
            self.until(p, f"sent {n}")
        p("offer 0 10 1")       # and now it stays away
        for n in range(21, 30):
            self.until(p, f"status {n}")
            p("skip 20000")
        self.until(p, "sent 21")
        log = p.end()
        self.assertEqual((log.count("does not accept"), log.count("accepts requests again")), (2, 2), log)
        self.assertIn("; 20 times since the last message", log)


class TestBadServers(TestCase):
    def test_nobody_listens_for_an_hour(self):
        gone = Server(silent)
        gone.close()
        p = self.program(self.otlp(gone, "timeout_ms=20000"))
        tried = 0
        for n in range(240):
            p("offer 0 200 2")
            f = self.figures(p)
            if f["in_flight"]:
                self.until(p, f"connect {f['connect'] + 1}")
                tried += 1
            p("skip 15000")
        f = self.figures(p)
        if f["in_flight"]:
            self.until(p, f"connect {f['connect'] + 1}")
        f = self.figures(p)
        self.assertEqual(f["waiting"], 240)
        self.assertLess(f["connect"], 150)      # with pauses of up to a minute
        self.assertGreater(f["connect"], 40)
        server = self.server(reply(200), port=gone.port)
        p("skip 60000")
        self.until(p, "sent 240")
        self.assertEqual(sorted(server.numbers()), list(range(240)))
        self.assertEqual(server.numbers()[0], 0)
        self.assertEqual(self.figures(p)["sent_samples"], 480)

    def test_slow(self):
        def drip(server, connection, request):
            for byte in b"HTTP/1.1 503 " + b"x" * 1000:
                connection.sendall(bytes([byte]))
                if select.select([connection], [], [], 1)[0]:
                    return          # the sender has given up
        p = self.program(self.otlp(self.server(drip), "timeout_ms=300"),
                         self.otlp(self.server(drip), "timeout_ms=60000", "stall_ms=1000", name="stall"))
        p("offer 0 10 1")
        p("offer 1 10 1")
        self.until(p, "timeout 1")
        self.until(p, "timeout 1 1")
        for index in range(2):
            f = self.figures(p, index)
            self.assertEqual(f["waiting"] + f["in_flight"], 1)

    def test_one_that_hangs_does_not_hold_up_another(self):
        p = self.program(self.otlp(self.server(silent)), self.otlp(self.server(reply(200)), name="well"))
        for n in range(1, 21):
            p("offer 0 10 1")
            p("offer 1 10 1")
            self.until(p, f"sent {n} 1")
        f = self.figures(p)
        self.assertEqual((f["in_flight"], f["waiting"]), (4, 16))

    def test_closed_early(self):
        for name, data in {"nothing": b"", "half a line": b"HTTP/1.", "no end": b"HTTP/1.1 200 OK\r\nA: b"}.items():
            with self.subTest(name):
                server = self.server(in_turn(raw(data), reply(200)))
                p = self.program(self.otlp(server))
                p("offer 0 10 1")
                self.until(p, "retried 1" if name != "no end" else "sent 1")
                p("skip 60000")
                self.until(p, "sent 1")
                p.kill()

    def test_a_body_without_end(self):
        for status, figure in (("200", "sent 1"), ("503", "status 1"), ("400", "refused 1")):
            with self.subTest(status):
                server = self.server(endless(f"HTTP/1.1 {status} x\r\n\r\n".encode()))
                p = self.program(self.otlp(server))
                p("offer 0 10 1")
                self.until(p, figure)
                self.figures(p)
                p.kill()

    def test_headers_without_end(self):
        server = self.server(endless(b"HTTP/1.1 503 x\r\nA: "))
        p = self.program(self.otlp(server))
        p("offer 0 10 1")
        self.until(p, "retried 1")
        self.figures(p)

    def test_a_bomb(self):
        bomb = gzip.compress(b"\0" * (64 << 20))
        for status, figure in ((200, "sent 1"), (400, "refused 1")):
            with self.subTest(status):
                p = self.program(self.otlp(self.server(reply(status, bomb, "Content-Encoding: gzip"))))
                p("offer 0 10 1")
                self.until(p, figure)
                peak = Path(f"/proc/{p('pid')}/status").read_text().split("VmHWM:")[1].split()[0]
                if "san" not in PROGRAM.parts:
                    self.assertLess(int(peak), 48 << 10)
                p.kill()

    def test_nonsense(self):
        server = self.server(raw(b"\0\1\2\3" * 1000 + b"\r\n\r\n"))
        p = self.program(self.otlp(server))
        p("offer 0 10 1")
        self.until(p, "other 1")
        self.figures(p)


class TestTls(TestCase):
    def setUp(self):
        super().setUp()
        for name in ("ca", "other"):
            self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                         "-nodes", "-days", "9", "-subj", f"/CN={name}", "-keyout", f"{name}.key",
                         "-out", f"{name}.pem")
        for name in ("server", "client"):
            self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                         "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
            Path(self.dir, "ext").write_text("subjectAltName=IP:127.0.0.1\n")
            self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                         "-CAcreateserial", "-days", "9", "-extfile", "ext", "-out", f"{name}.pem")

    def openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.dir, check=True, capture_output=True)

    def tls_server(self, **settings):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.dir + "/server.pem", self.dir + "/server.key")
        context.load_verify_locations(self.dir + "/ca.pem")
        for name, value in settings.items():
            setattr(context, name, value)
        return self.server(reply(200), tls=context)

    def result(self, server, *how, figure="tls"):
        p = self.program(self.otlp(server, *how, scheme="https"))
        p("offer 0 10 1")
        self.until(p, figure + " 1")
        self.figures(p)
        p.kill()

    def test_right_ca(self):
        self.result(self.tls_server(), f"ca=@{self.dir}/ca.pem", figure="sent")

    def test_wrong_ca_and_the_systems(self):
        server = self.tls_server()
        self.result(server, f"ca=@{self.dir}/other.pem")
        self.result(server)
        self.assertEqual(server.seen, [])

    def test_wrong_name(self):
        server = self.tls_server()
        p = self.program(f"o otlp https://localhost:{server.port}/ ca=@{self.dir}/ca.pem")
        p("offer 0 10 1")
        self.until(p, "tls 1")

    def test_client_certificate(self):
        server = self.tls_server(verify_mode=ssl.CERT_REQUIRED)
        ca = f"ca=@{self.dir}/ca.pem"
        self.result(server, ca, f"certificate=@{self.dir}/client.pem", f"key=@{self.dir}/client.key",
                    figure="sent")
        self.result(server, ca, figure="retried")
        self.assertEqual(len(server.seen), 1)

    def test_old_tls(self):
        server = self.tls_server(minimum_version=ssl.TLSVersion.TLSv1,
                                 maximum_version=ssl.TLSVersion.TLSv1_1)
        server.tls.set_ciphers("ALL:@SECLEVEL=0")
        self.result(server, f"ca=@{self.dir}/ca.pem")
        self.assertEqual(server.seen, [])

    def test_not_tls(self):
        self.result(self.server(silent), "timeout_ms=300", figure="retried")


class TestNames(TestCase):
    """The resolver's files are those of a mount of our own."""

    def setUp(self):
        super().setUp()
        if not alone:
            self.skipTest("needs root, for a network of its own")

    def resolver(self, text):
        path = Path(self.dir, "resolv.conf")
        path.write_text(text)
        target = os.path.realpath("/etc/resolv.conf").encode()
        os.chmod(path, 0o644)
        os.chmod(self.dir, 0o755)
        self.assertEqual(libc.mount(str(path).encode(), target, None, MS_BIND, None), 0)
        self.addCleanup(libc.umount2, target, 2)

    def both(self, figure):
        p = self.program("o otlp http://collector.example:4318/x timeout_ms=500",
                         self.otlp(self.server(reply(200)), name="well"))
        p("offer 0 10 1")
        for n in range(1, 6):
            p("offer 1 10 1")
            self.until(p, f"sent {n} 1")
        self.until(p, figure)
        self.assertEqual(self.figures(p)["waiting"], 1)
        p("offer 1 10 1")
        self.until(p, "sent 6 1")

    def test_a_name_server_that_does_not_answer(self):
        silent_one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(silent_one.close)
        silent_one.bind(("127.0.0.1", 53))
        self.resolver("nameserver 127.0.0.1\n")
        self.both("retried 1")

    def test_no_name_server(self):
        self.resolver("nameserver 127.0.0.1\n")
        self.both("dns 1")

    def test_a_name(self):
        server = self.server(reply(200))
        self.addCleanup(libc.umount2, b"/etc/hosts", 2)
        path = Path(self.dir, "hosts")
        path.write_text("127.0.0.1 collector.example\n")
        os.chmod(path, 0o644)
        self.assertEqual(libc.mount(str(path).encode(), b"/etc/hosts", None, MS_BIND, None), 0)
        p = self.program(f"o otlp http://collector.example:{server.port}/")
        p("offer 0 10 1")
        self.until(p, "sent 1")
        self.figures(p)


class TestSender(TestCase):
    def test_killed(self):
        for args in ((), ("keeper",)):
            with self.subTest(args=args):
                server = self.server(in_turn(silent, reply(200)))
                p = self.program(self.otlp(server), args=args)
                p("offer 0 10 1")
                pid = p("pid")
                while not server.seen:
                    time.sleep(0.01)
                os.kill(pid, signal.SIGKILL)
                self.until(p, "senders_lost 1")
                f = self.figures(p, lost=1)
                self.assertEqual((f["lost_answers"], f["waiting"], f["spooled"]), (1, 1, 1))
                p("skip 60000")
                self.until(p, "sent 1")
                self.assertNotEqual(p("pid"), pid)
                self.assertEqual(server.seen[0]["body"], server.seen[1]["body"])
                p.kill()

    def test_hangs(self):
        server = self.server(reply(200))
        p = self.program(self.otlp(server))
        self.stop(p("pid"))
        p("offer 0 10 1")
        self.assertEqual(self.figures(p)["in_flight"], 1)
        p("skip 34000")
        self.assertEqual(self.figures(p)["in_flight"], 1)
        p("skip 1001")
        f = self.figures(p, lost=1)
        self.assertEqual((f["waiting"] + f["in_flight"], f["lost_answers"]), (1, 1))
        p("skip 60000")
        self.until(p, "sent 1")

    def test_waits_for_a_cpu(self):
        """Who has run since then is not given up yet; who has not run since the last look is."""
        server = self.server(silent)
        p = self.program(self.otlp(server))
        p("offer 0 10 1")
        while not server.seen:
            time.sleep(0.01)
        self.stop(p("pid"))
        p("skip 35001")
        self.assertEqual(self.figures(p)["in_flight"], 1)
        p("skip 4000")
        self.assertEqual(self.figures(p)["in_flight"], 1)
        p("skip 1001")
        self.figures(p, lost=1)

    def test_waits_for_a_cpu_for_a_minute(self):
        """Who runs a little between two looks, and never answers, is given up in the end."""
        server = self.server(silent)
        p = self.program(self.otlp(server, "timeout_ms=3600000"))
        p("offer 0 10 1")
        while not server.seen:
            time.sleep(0.01)
        self.stop(p("pid"))
        p("skip 3605001")
        for _ in range(11):
            self.assertEqual(self.figures(p)["in_flight"], 1)
            os.kill(p("pid"), signal.SIGCONT)
            self.stop(p("pid"))
            p("skip 5000")
        self.figures(p, lost=1)

    def stop(self, pid):
        os.kill(pid, signal.SIGSTOP)
        while " T " not in Path(f"/proc/{pid}/stat").read_text():
            time.sleep(0.01)

    def test_ends_with_its_program(self):
        p = self.program(self.otlp(self.server(reply(200))))
        pid = p("pid")
        fd = os.pidfd_open(pid)
        p.kill()
        self.assertTrue(select.select([fd], [], [], 60)[0])
        os.close(fd)


class TestSpool(TestCase):
    def test_what_is_in_flight_at_the_end_is_spooled(self):
        server = self.server(silent)
        p = self.program(self.otlp(server))
        for _ in range(6):
            p("offer 0 10 1")
        p("finish 100")
        self.assertEqual(self.figures(p)["in_flight"], 4)
        p("close")
        p.end()
        self.assertEqual(len(list(Path(self.spool).glob("*.spool"))), 6)
        well = self.server(reply(200))
        p = self.program(self.otlp(well, "transfers=1"))
        self.until(p, "sent 6")
        self.assertEqual(well.numbers(), list(range(6)))
        self.assertEqual(self.figures(p)["found"], 6)

    def test_the_end_waits_for_answers(self):
        p = self.program(self.otlp(self.server(reply(200))))
        for _ in range(4):
            p("offer 0 10 1")
        p("finish 60000")
        self.assertEqual(self.figures(p)["sent"], 4)

    def test_killed_program(self):
        down = Server(silent)
        down.close()
        p = self.program(self.otlp(down))
        p("offer 0 10 1")
        self.until(p, "connect 1")
        for _ in range(9):
            p("offer 0 10 1")
        p.kill()
        server = self.server(reply(200))
        p = self.program(self.otlp(server))
        self.until(p, "sent 10")
        self.assertEqual(sorted(server.numbers()), list(range(10)))

    def test_the_oldest_goes(self):
        p = self.program(self.otlp(self.server(silent), "transfers=1"), opened="open 40960")
        for _ in range(21):
            p("offer 0 3000 2")
        f = self.figures(p)         # what is being sent cannot go
        self.assertEqual((f["spool_entries"], f["spool_full"], f["spool_full_samples"], f["in_flight"]),
                         (10, 11, 22, 1))
        p("offer 0 50000 2")
        f = self.figures(p)
        self.assertEqual((f["too_large"], f["spool_full"]), (1, 11))

    def test_only_one(self):
        server = self.server(reply(200))
        self.program(self.otlp(server))
        p = self.program(self.otlp(server), opened=None)
        self.assertEqual(p("open"), -16)
        self.assertIn("another tachbpf agent uses", p.end())

    def test_full_disk(self):
        if not alone:
            self.skipTest("needs root, to mount a disk")
        disk = self.dir + "/disk"
        os.mkdir(disk, 0o700)
        self.assertEqual(libc.mount(b"none", disk.encode(), b"tmpfs", 0, b"size=64k"), 0)
        self.addCleanup(libc.umount2, disk.encode(), 2)
        server = self.server(in_turn(reply(503), reply(200)))
        p = self.program(self.otlp(server), spool=disk + "/spool")
        p("offer 0 30000 1")
        self.until(p, "status 1")
        for _ in range(59):
            p("offer 0 30000 1")
        f = self.figures(p)
        self.assertGreater(f["disk_failures"], 40)
        self.assertGreater(f["memory_full"], 15)
        self.assertEqual(f["memory_full"], f["memory_full_samples"])
        self.assertLessEqual(f["memory_bytes"], 1 << 20)
        self.assertGreater(f["next_ms"], 0)     # it does not try without pause
        p("skip 60000")
        self.until(p, f"sent {60 - f['memory_full']}")
        self.assertEqual(self.figures(p)["spool_bytes"], 0)
        log = p.end()
        self.assertEqual(log.count("cannot write to the spool"), 1, log)

    def test_other_exporters(self):
        down = Server(silent)
        down.close()
        p = self.program(self.otlp(down), self.otlp(down, name="q"))
        for index in (0, 1):
            p(f"offer {index} 10 1")
            self.until(p, f"connect 1 {index}")
        well = self.server(reply(200))
        p("forget")
        p("exporter " + self.otlp(well, name="q"))
        self.assertEqual(p("set"), 0)
        self.until(p, "sent 1")
        self.assertEqual(self.figures(p)["spool_entries"], 1)      # o's
        p("exporter " + self.otlp(well))
        self.assertEqual(p("set"), 0)
        self.until(p, "sent 1 1")
        self.assertEqual(sorted(well.numbers()), [0, 1])
        p("forget")
        p("exporter o otlp ftp://x")
        self.assertEqual(p("set"), -22)
        p("offer 0 10 1")
        self.until(p, "sent 2")

    def test_a_server_comes_later(self):
        p = self.program("o otlp -")
        for _ in range(3):
            p("offer 0 10 1")
        p("skip 3600000")
        self.assertEqual(p("pid"), 0)       # nobody to send to, and no sender
        figures = self.figures(p)
        self.assertEqual([figures[f] for f in ("waiting", "in_flight", "spool_entries")], [3, 0, 3])
        well = self.server(reply(200))
        p("forget")
        p("exporter " + self.otlp(well))
        self.assertEqual(p("set"), 0)
        self.until(p, "sent 3")
        self.assertEqual(sorted(well.numbers()), [0, 1, 2])    # several at once
        p("forget")
        p("exporter o otlp -")
        self.assertEqual(p("set"), 0)
        p("offer 0 10 1")
        p("skip 60000")
        self.assertEqual(self.figures(p)["waiting"], 1)
        self.assertEqual(len(well.seen), 3)

    def test_a_killed_agents_draft(self):
        """The next one sends what was drafted, and counts what was not; a draft that is offered is not sent twice."""
        down = Server(silent)
        down.close()
        for offered in (False, True):
            with self.subTest(offered=offered):
                spool = f"{self.spool}-{offered}"
                p = self.program(self.otlp(down), spool=spool)
                p("draft 7")            # requests of 7 samples in all; each draft replaces the one before
                p("draft 9 10")
                p("meter 13")
                if offered:
                    p("draft 13")
                    p("offer_half")     # and then we are killed
                p.kill()
                server = self.server(reply(200))
                p = self.program(self.otlp(server), spool=spool)
                self.until(p, "sent 2")
                f = self.figures(p)
                self.assertEqual((f["sent_samples"], f["killed_samples"]), (13, 0) if offered else (9, 4))
                p("close")
                self.assertEqual("the last agent was killed: 4 samples" in p.end(), not offered)
                self.assertEqual(sorted(x.name for x in Path(spool).iterdir()), ["lock", "open"])

    def test_a_damaged_draft(self):
        p = self.program(self.otlp(self.server(reply(200))))
        p("draft 7")
        p.kill()
        path, = Path(self.spool).glob("*.draft")
        path.write_bytes(path.read_bytes()[:-3])
        Path(self.spool, "0000000000000001.tmp").write_text("x")
        p = self.program(self.otlp(self.server(reply(200))))
        self.until(p, "sent 1")         # the first of the two is whole
        self.assertEqual(self.figures(p)["killed_samples"], 4)
        p("close")
        self.assertIn("the open window of the last agent, which was killed, is lost", p.end())

    def test_a_draft_that_is_damaged_in_the_middle(self):
        p = self.program(self.otlp(self.server(reply(200))))
        p("draft 7")
        p.kill()
        path, = Path(self.spool).glob("*.draft")
        path.write_bytes(path.read_bytes().replace(b"aaa", b"aba", 1))
        p = self.program(self.otlp(self.server(reply(200))))
        self.until(p, "sent 1")         # the second one
        f = self.figures(p)
        self.assertEqual((f["sent_samples"], f["killed_samples"]), (4, 3))

    def test_a_draft_for_which_there_is_no_room(self):
        p = self.program(self.otlp(self.server(reply(200))))
        p("draft 7 4000")
        p.kill()
        p = self.program(self.otlp(self.server(reply(200))), opened="open 4096")
        self.assertEqual(self.figures(p)["killed_samples"], 7)
        p("close")
        self.assertIn("7 samples of its open window are lost", p.end())

    def test_damaged_payload(self):
        p = self.program(self.otlp(self.server(in_turn(reply(503), reply(200)))))
        p("offer 0 10000 1")
        self.until(p, "status 1")
        p("offer 0 100 1")
        path = min(Path(self.spool).glob("*.spool"))
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        p("skip 60000")
        self.until(p, "sent 1")
        f = self.figures(p)
        self.assertEqual((f["damaged"], f["damaged_files"], f["spool_entries"]), (1, 1, 0))


if __name__ == "__main__":
    unittest.main()
