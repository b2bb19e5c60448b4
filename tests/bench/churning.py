# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""churning.py ROUNDS BUFFERS: an allocation-heavy program: it parses, builds, sorts and drops records, and a
few stay. Each round also fills so many buffers of 200 kB, each mapped and unmapped: 49 page faults.

It says "ready", waits for a line, and then how many seconds of CPU and of the clock its rounds took, and its page faults.
"""
import json
import mmap
import resource
import sys
import time

TEXT = json.dumps([{"id": i, "name": "name %d" % i, "tags": ["a%d" % (i % 7), "b", "c"],
                    "values": [i * j / 3 for j in range(10)]} for i in range(2000)])
CONTENT = bytes(49 * mmap.PAGESIZE)
stays = []


def parses():
    return json.loads(TEXT)


def builds(records):
    return {r["name"]: (r["id"], tuple(r["values"]), " ".join(r["tags"])) for r in records}


def sorts(index):
    return sorted(index.items(), key=lambda item: -item[1][0])


def buffers(cnt):
    made = [mmap.mmap(-1, len(CONTENT), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(cnt)]
    for buffer in made:
        buffer.write(CONTENT)
    return made


def one_round(i, cnt):
    ordered = sorts(builds(parses()))
    blocks = buffers(cnt)
    if i % 10 == 0:
        stays.append((ordered[:200], blocks[:1]))


def main():
    rounds, cnt = int(sys.argv[1]), int(sys.argv[2])
    for i in range(5):
        one_round(i, cnt)
    print("ready", flush=True)
    sys.stdin.readline()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    wall, cpu = time.monotonic(), time.process_time()
    for i in range(rounds):
        one_round(i, cnt)
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    print(cpu, wall, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults, flush=True)
    sys.stdin.readline()


main()
