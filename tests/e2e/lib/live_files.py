"""Recordings as users make them, and the sizes of their files beside those that CPython 3.15's own writer makes of the
same samples."""
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import replay_all
from paths import TESTS, binary
from processes import kill

MIXED = TESTS / "bench" / "mixed.py"
SHORT = "import json\nfor _ in range({rounds}): json.dumps(list(range(200)))"
# Two threads work, the others wait: in a queue, in sleep() or for a lock, at places of their own.
THREADS = """
import queue, threading, time
def spin():
    while True: sum(range(500))
def sleeper(s):
    while True: time.sleep(s)
def waiter(q):
    while True: q.get(timeout=0.2) if q.empty() else None
def idle(e): e.wait()
def safe(f, *a):
    while True:
        try: f(*a)
        except queue.Empty: pass
e = threading.Event()
for i in range(50):
    f = [(spin,), (sleeper, 0.01 * (i + 1)), (waiter, queue.Queue()), (idle, e)][0 if i < 2 else 1 + i % 3]
    threading.Thread(target=safe, args=f, daemon=True).start()
print("ready", flush=True)
time.sleep(10 ** 6)
"""
DUTY = "import json, time\nwhile True:\n    json.dumps(list(range(2000)))\n    time.sleep(0.1)"

# In CPython 3.15: FILE OUT, again and again -> a line "samples" for each pair. Run as a file. Samples are written in
# the order of their times, as a sampler gets them, and with the statistics that its command adds.
REWRITE = replay_all.KEEP + """
import sys, _remote_debugging as r

for path, out in zip(sys.argv[1::2], sys.argv[2::2]):
    reader, keep = r.BinaryReader(path), Keep()
    reader.replay(keep)
    keep.all.sort(key=lambda pair: pair[1])
    info = reader.get_info()
    writer = r.BinaryWriter(out, info["sample_interval_us"], info["start_time_us"], compression=1)
    for interpreters, us in keep.all:
        writer.write_sample(interpreters, us)
    writer.set_stats(30.0, 999.0, 0.0, 0.0)
    writer.finalize()
    print(len(keep.all))
"""
AT_ONCE = 100


@dataclass
class Sizes:
    files: int
    samples: int
    ours: int
    theirs: int     # 0: there is no CPython 3.15
    first_lines: int    # bytes of ours that say where functions begin, which theirs do not


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def first_lines_bytes(path):
    """docs/tach.md: the last string."""
    data = path.read_bytes()
    at, end = struct.unpack_from("=QQ", data, 40)
    begin = at
    while at < end:
        begin = at
        size, at = varint(data, at)
        text, at = data[at:at + size], at + size
    return end - begin if begin < end and text.startswith(b"=") else 0


def compare(recording, python, scratch):
    """A file or a directory. scratch: the other Python can see it."""
    paths = sorted(recording.glob("*.tach")) if recording.is_dir() else [recording]
    ours, lines = sum(p.stat().st_size for p in paths), sum(map(first_lines_bytes, paths))
    if not python:
        return Sizes(len(paths), 0, ours, 0, lines)
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        directory = Path(name)
        directory.chmod(0o755)
        script = directory / "rewrite.py"
        script.write_text(REWRITE)
        outs = [directory / f"{i}.tach" for i in range(len(paths))]
        samples = 0
        for i in range(0, len(paths), AT_ONCE):
            pairs = [p for pair in zip(paths[i:i + AT_ONCE], outs[i:i + AT_ONCE]) for p in pair]
            done = subprocess.run(python.command(script, *pairs), check=True, capture_output=True, text=True)
            samples += sum(map(int, done.stdout.split()))
        return Sizes(len(paths), samples, ours, sum(p.stat().st_size for p in outs), lines)


def start(count, *argv):
    return [subprocess.Popen(argv, stdout=subprocess.DEVNULL, start_new_session=True) for _ in range(count)]


def record(out, seconds, *argv):
    subprocess.run([binary(), "-q", *argv, "-d", str(seconds), "-o", out], check=True)


def record_busy(out, python, seconds):
    target = start(1, *python, MIXED, "1")[0]
    time.sleep(1)
    try:
        record(out, seconds, "-r", "999", "-p", str(target.pid))
    finally:
        kill(target)


def record_short(out, python, count):
    """One after another, two at a time; each lives between a tenth of a second and two."""
    run = f"""
import os, subprocess, sys
slots = []
for i in range({count}):
    slots.append(subprocess.Popen(sys.argv[1:] + ["-c", {SHORT!r}.format(rounds=1000 * (1 + i % 7))]))
    if len(slots) == 2: slots.pop(0).wait()
for p in slots: p.wait()
"""
    subprocess.run([binary(), "-q", "-r", "999", "-o", out, "--", *python, "-c", run, *python], check=True)


def record_threads(out, python, seconds):
    target = start(1, *python, "-c", THREADS)[0]
    time.sleep(1)
    try:
        record(out, seconds, "-m", "wall", "-r", "999", "-p", str(target.pid))
    finally:
        kill(target)


def record_many(out, python, seconds, count, *options):
    targets = start(count, *python, "-S", "-c", DUTY)
    time.sleep(3)
    try:
        record(out, seconds, "-a", *options)
    finally:
        for target in targets:
            kill(target)
