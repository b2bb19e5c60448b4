# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A request, or a task: 20 ms of CPU in parse(), 10 ms in render()."""
import json
import re
import time

from truth import counted

TEXT = json.dumps([{"id": i, "name": "name%d" % i, "tags": ["a", "b"]} for i in range(40)])


@counted
def parse(seconds=0.02):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        rows = json.loads(TEXT)
        re.sub(r"\d+", "n", rows[0]["name"])
        sum(row["id"] for row in rows)


@counted
def render(seconds=0.01):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        ", ".join("<b>%s</b>" % i for i in range(60))


def handle(*_):
    parse()
    render()
    return "done"


def run(times=120):
    for _ in range(times):
        handle()
