# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""heap_of.py MIB SECONDS: holds so much memory in objects of several types, says "ready", and makes and drops objects for
SECONDS for each line of its input: prints how many rounds, and CPU seconds for each. "gc": asks gc for all its objects."""
import gc
import sys
import time


class Session(object):
    def __init__(self, i):
        self.i = i
        self.name = "session-%d" % i
        self.history = [str(j + 1000) for j in range(20)]


def rss():
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith("RssAnon"):
                return int(line.split()[1]) // 1024


def hold(mib):
    held = {"sessions": [], "blobs": [], "table": {}}
    while rss() < mib:
        for i in range(2000):
            held["sessions"].append(Session(i))
            held["table"][len(held["table"])] = (i, float(i))
        held["blobs"].append(b"x" * 20000)
    return held


def one_round():
    kept = [(i, str(i), {"a": i}) for i in range(5000)]
    return sum(len(k) for k in kept)


def rounds(seconds):
    end, cnt, begin = time.monotonic() + seconds, 0, time.process_time()
    while time.monotonic() < end:
        one_round()
        cnt += 1
    return cnt, (time.process_time() - begin) / cnt


def ask_gc():
    begin, types = time.monotonic(), {}
    for o in gc.get_objects():
        row = types.setdefault(type(o), [0, 0])
        row[0] += 1
        row[1] += sys.getsizeof(o)
    return len(types), time.monotonic() - begin


def main():
    held = hold(int(sys.argv[1]))
    print("ready", flush=True)
    for line in sys.stdin:
        print(*(ask_gc() if line == "gc\n" else rounds(float(sys.argv[2]))), flush=True)
    return held


main()
