# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The program of `make demo`, with a common fault: two threads read a web server's log, again and
again until the time is up, and keep each visitor once, in a list."""
import collections
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
        self.visitors = []
        self.by_path = collections.Counter()
        self.errors = collections.Counter()

    def add(self, entry):
        if entry['host'] not in self.visitors:
            self.visitors.append(entry['host'])
        self.by_path[entry['path']] += entry['size']
        if entry['status'] >= 400:
            self.errors[entry['status']] += 1

    def render(self):
        top = sorted(self.by_path.items(), key=lambda item: -item[1])
        return json.dumps({'visitors': len(self.visitors), 'top': top, 'errors': self.errors},
                          indent=1)


def analyse(log, until):
    while time.monotonic() < until:
        report = Report()
        for entry in parse(log):
            report.add(entry)
        zlib.compress(report.render().encode())


def main():
    until = time.monotonic() + float(sys.argv[1])
    workers = [threading.Thread(target=analyse, args=(make_log(600, seed), until))
               for seed in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


main()
