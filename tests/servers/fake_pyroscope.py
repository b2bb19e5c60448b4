# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A fake Pyroscope: what the real one's push API answers (main of 2026-08-21, asked by hand; docs/agent.md has the
table), and the series that it would have."""
import gzip
import json
import re

from http_sink import Answer
from pprof_decode import Pprof, message, one

PATH = "/push.v1.PusherService/Push"
LABELS_MAX, SAMPLES_MAX, PROFILE_BYTES_MAX = 30, 16000, 4 << 20
STATUS = {"invalid_argument": 400, "unknown": 500, "resource_exhausted": 429, "unavailable": 503}
NOT_READY = ("unknown", "rpc error: code = Unavailable desc = service is unavailable")


class Refused(Exception):
    """A code of the Connect protocol, and a message."""


class Series:
    def __init__(self, data):
        m = message(data)
        pairs = [(one(x, 1).decode(), one(x, 2).decode()) for x in map(message, m[1])]
        self.labels = dict(pairs)
        self.name = self.labels.pop("__name__")
        self.check_labels(pairs)
        raw, = m[2]
        self.bytes = one(message(raw), 1)
        self.pprof = Pprof(self.bytes)
        self.check_profile()

    def check_labels(self, pairs):
        if len(pairs) > LABELS_MAX:
            raise Refused("invalid_argument", f"profile series has {len(pairs)} label names; limit 30")
        if len(pairs) > len(dict(pairs)):
            raise Refused("invalid_argument", "profile has duplicate label name")
        if not self.labels.get("service_name"):
            raise Refused("invalid_argument", "service name is not provided")
        # as with -validation.disable-label-sanitization=false: else more is taken, and Grafana does not show it
        for name in self.labels:
            if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
                raise Refused("invalid_argument", f"invalid label name '{name}'")

    def check_profile(self):
        if len(self.bytes) > PROFILE_BYTES_MAX:
            raise Refused("invalid_argument", "uncompressed profile payload size exceeds limit of 4.2 MB")
        if len(self.pprof.samples) > SAMPLES_MAX:
            raise Refused("invalid_argument", "the profile exceeds the samples count limit")

    @property
    def types(self):
        """The profile type ids; one for each value."""
        return [":".join((self.name, *its, *self.pprof.period_type)) for its in self.pprof.types]

    def sum(self):
        return sum(values[0] for _, values, _ in self.pprof.samples)


def series_of(posted):
    return [Series(data) for data in message(posted.body).get(1, [])]


def error(code, text):
    return Answer(STATUS[code], json.dumps({"code": code, "message": text}).encode(), Content_Type="application/json")


def taken(posted):
    """An empty PushResponse, gzipped as the request was."""
    if posted.headers.get("Content-Encoding") != "gzip":
        return Answer(Content_Type="application/proto")
    return Answer(200, gzip.compress(b""), Content_Type="application/proto", Content_Encoding="gzip")


def answer(posted):
    if posted.path != PATH:
        return Answer(404, b"404 page not found\n")
    if posted.headers.get("Content-Type") != "application/proto":
        return Answer(415)
    try:
        if not series_of(posted):
            raise Refused("invalid_argument", "no profiles received")
    except Refused as refused:
        return error(*refused.args)
    return taken(posted)
