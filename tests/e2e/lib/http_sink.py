# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A server of our own on 127.0.0.1 that keeps what is posted to it, and answers as a test wants."""
import contextlib
import gzip
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from processes import TIMEOUT


class Posted:
    """A request, as it came. at: CLOCK_MONOTONIC when all of it was here."""

    def __init__(self, method, target, headers, body):
        parts = urlsplit(target)
        self.method, self.path, self.headers, self.raw = method, parts.path, headers, body
        self.query = {k: v[0] for k, v in parse_qs(parts.query, strict_parsing=bool(parts.query)).items()}
        self.at = time.monotonic()
        self.status = None      # what it was answered

    @property
    def body(self):
        encoding = self.headers.get("Content-Encoding", "identity")
        assert encoding in ("gzip", "identity"), encoding
        return gzip.decompress(self.raw) if encoding == "gzip" else self.raw


class Answer:
    """What a request gets. hold: an Event to wait for before anything is answered."""

    def __init__(self, status=200, body=b"", hold=None, **headers):
        self.status, self.body, self.hold = status, body, hold
        self.headers = {k.replace("_", "-"): v for k, v in headers.items()}


class Sink:
    """`with Sink() as sink`. answer: called with each Posted; its Answer is given."""

    def __init__(self, answer=lambda posted: Answer(), port=0):
        self.answer, self.seen, self.news = answer, [], threading.Condition()
        self.server = Server(("127.0.0.1", port), Handler)
        self.server.sink = self
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def taken(self):
        """The requests that were answered 2xx, in their order."""
        with self.news:
            return [p for p in self.seen if p.status and 200 <= p.status < 300]

    def settle(self):
        """To be called when the agent has ended: until all that came is answered."""
        self.wait(lambda sink: all(p.status for p in sink.seen))

    def wait(self, condition, timeout=TIMEOUT):
        """Until condition(this sink) is true, tried whenever a request was answered."""
        end = time.monotonic() + timeout
        with self.news:
            while not condition(self):
                left = end - time.monotonic()
                assert left > 0, f"{len(self.seen)} requests came, but not what was waited for"
                self.news.wait(min(left, 1))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        """A client that was killed is no error of the server's."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        sink = self.server.sink
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size)
        if len(body) < size:        # the client has gone meanwhile
            self.close_connection = True
            return
        posted = Posted(self.command, self.path, self.headers, body)
        answer = sink.answer(posted)
        with sink.news:
            sink.seen.append(posted)
            sink.news.notify_all()
        if answer.hold:
            answer.hold.wait(TIMEOUT)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)
            self.wfile.flush()
        with sink.news:
            posted.status = answer.status
            sink.news.notify_all()

    do_GET = do_PUT = do_POST

    def log_message(self, *_):
        pass
