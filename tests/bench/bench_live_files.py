#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-live-files: the size of live recordings, beside the files that CPython 3.15's own writer makes of
the same samples.

Each recording is made as a user would make it; then CPython reads each file, and writes its samples again, in the
order of their times. A directory's files are added up, all parts of them.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import interpreters  # noqa: E402
import live_files  # noqa: E402
from processes import kill  # noqa: E402

TACHBPF = os.environ["TACHBPF"]
MIXED = HERE / "mixed.py"
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


def start(count, *argv):
    return [subprocess.Popen(argv, stdout=subprocess.DEVNULL, start_new_session=True) for _ in range(count)]


def record(out, seconds, *argv):
    subprocess.run([TACHBPF, "-q", *argv, "-d", str(seconds), "-o", out], check=True)


def busy(out, python, seconds):
    target = start(1, *python, MIXED, "1")[0]
    time.sleep(1)
    try:
        record(out, seconds, "-r", "999", "-p", str(target.pid))
    finally:
        kill(target)


def short(out, python, count):
    """One after another, two at a time; each lives between a tenth of a second and two."""
    run = f"""
import os, subprocess, sys
slots = []
for i in range({count}):
    slots.append(subprocess.Popen(sys.argv[1:] + ["-c", {SHORT!r}.format(rounds=1000 * (1 + i % 7))]))
    if len(slots) == 2: slots.pop(0).wait()
for p in slots: p.wait()
"""
    subprocess.run([TACHBPF, "-q", "-r", "999", "-o", out, "--", *python, "-c", run, *python], check=True)


def threads(out, python, seconds):
    target = start(1, *python, "-c", THREADS)[0]
    time.sleep(1)
    try:
        record(out, seconds, "-m", "wall", "-r", "999", "-p", str(target.pid))
    finally:
        kill(target)


def many(out, python, seconds, count, *options):
    targets = start(count, *python, "-S", "-c", DUTY)
    time.sleep(3)
    try:
        record(out, seconds, "-a", *options)
    finally:
        for target in targets:
            kill(target)


def show(name, sizes):
    line = f"{name:52} {sizes.samples:>9,} samples {sizes.files:>4} files  tachbpf {sizes.ours / 1000:9.1f} KB"
    if sizes.theirs:
        line += f"  CPython {sizes.theirs / 1000:9.1f} KB  ratio {sizes.ours / sizes.theirs:5.3f}"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--keep", help="a directory for the recordings")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    known = interpreters.discover()
    python = next(i for i in known if i.name == "system-3.11")
    peer = next((i for i in known if i.name == "sid-3.15"), None)
    if not peer:
        print("no CPython 3.15: nothing to compare with (sudo make interpreters)")
    cases = (
        (f"one busy process, {options.seconds} s at 999 Hz", busy, options.seconds),
        ("300 short-lived processes, 999 Hz", short, 300),
        (f"50 threads, wall, {options.seconds} s at 999 Hz", threads, options.seconds),
        (f"300 processes, -a, {options.seconds} s at 99 Hz", many, options.seconds, 300),
        (f"300 processes, -a, wall, {options.seconds} s at 99 Hz", many, options.seconds, 300, "-m", "wall"),
    )
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-", dir="/tmp") as scratch:
        base = Path(options.keep or scratch)
        base.mkdir(exist_ok=True)
        base.chmod(0o755)
        Path(scratch).chmod(0o755)
        for name, function, *args in cases:
            if options.only not in name:
                continue
            out = base / name.replace(" ", "-").replace(",", "")
            function(out, python.command(), *args)
            show(name, live_files.compare(out, peer, Path(scratch)))


main()
