# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A small real program for `make demo`: a log is parsed, counted, sorted and packed,
in two threads, until the time is up."""
import collections
import hashlib
import json
import random
import re
import sys
import threading
import time
import zlib

LINE = re.compile(r'(\S+) (\S+) "(GET|POST) (\S+)" (\d{3}) (\d+)')


def make_log(lines, seed):
    rnd = random.Random(seed)
    return [f'10.0.{rnd.randrange(256)}.{rnd.randrange(256)} user{rnd.randrange(50)} '
            f'"GET /item/{rnd.randrange(500)}" {rnd.choice((200, 200, 200, 404, 500))} '
            f'{rnd.randrange(100000)}' for _ in range(lines)]


def parse(lines):
    for line in lines:
        match = LINE.match(line)
        if match:
            host, user, method, path, status, size = match.groups()
            yield {'host': host, 'user': user, 'path': path, 'status': int(status),
                   'size': int(size)}


class Report:
    def __init__(self):
        self.by_path = collections.Counter()
        self.errors = collections.defaultdict(list)

    def add(self, entry):
        self.by_path[entry['path']] += entry['size']
        if entry['status'] >= 400:
            self.errors[entry['status']].append(entry['host'])

    def render(self):
        top = sorted(self.by_path.items(), key=lambda item: -item[1])[:100]
        return json.dumps({'top': top, 'errors': {k: len(v) for k, v in self.errors.items()}})


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def analyse(until, seed):
    log = make_log(2000, seed)
    while time.monotonic() < until:
        report = Report()
        for entry in parse(log):
            report.add(entry)
        packed = zlib.compress(report.render().encode() * 20)
        hashlib.sha256(packed).hexdigest()
        fibonacci(15)


def main():
    until = time.monotonic() + float(sys.argv[1])
    workers = [threading.Thread(target=analyse, args=(until, i)) for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


main()
