#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-files: our TACH writer, reader and conversion beside CPython 3.15's.

Both write and read the same samples. CPython's reader makes Python objects of
them, which is what it is for; its collector here does nothing with them.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import interpreters  # noqa: E402

SAMPLES = 400000
DEPTHS = (10, 60)

# In CPython 3.15: FILE OUT -> "read write bytes", samples per second. Run as a file.
PEER = """
import sys, time, _remote_debugging as r
path, out = sys.argv[1:]

class Nothing:
    aggregating = True
    def collect(self, interpreters, timestamps_us=None):
        pass
    def collect_failed_sample(self):
        pass

class Keep(Nothing):
    aggregating = False
    def __init__(self):
        self.all = []
    def collect(self, interpreters, timestamps_us=None):
        for us in timestamps_us if isinstance(timestamps_us, list) else [timestamps_us]:
            self.all.append((interpreters, us or 0))

reader = r.BinaryReader(path)
start = time.perf_counter()
count = reader.replay(Nothing())
read = count / (time.perf_counter() - start)
keep = Keep()
r.BinaryReader(path).replay(keep)
keep.all.sort(key=lambda pair: pair[1])
writer = r.BinaryWriter(out, 100, 0, compression=1)
start = time.perf_counter()
for interpreters, us in keep.all:
    writer.write_sample(interpreters, us)
writer.finalize()
print(read, len(keep.all) / (time.perf_counter() - start))
"""


def best(function, times=3):
    return max(function() for _ in range(times))


def seconds(argv):
    start = time.perf_counter()
    subprocess.run(list(map(str, argv)), check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def number(*argv):
    return float(subprocess.run(list(map(str, argv)), check=True, capture_output=True,
                                text=True).stdout)


def rates(name, ours, theirs, unit="M samples/s", scale=1e6):
    line = f"{name:28} {ours / scale:8.2f} {unit}"
    if theirs:
        line += f"   CPython {theirs / scale:8.3f}   ratio {ours / theirs:6.1f}"
    print(line, flush=True)


def peer(python, script, path, scratch):
    done = subprocess.run(python.command(script, path, scratch / "peer.tach"), check=True,
                          capture_output=True, text=True, timeout=600)
    return map(float, done.stdout.split())


def bench_depth(tool, tachbpf, python, scratch, depth):
    path = scratch / f"depth{depth}.tach"
    write = best(lambda: number(tool, "write", path, SAMPLES * 5, depth, "zstd"))
    raw = best(lambda: number(tool, "write", path, SAMPLES * 5, depth, "none"))
    number(tool, "write", path, SAMPLES, depth, "zstd")
    read = best(lambda: number(tool, "read", path, 5))
    size, peer_read, peer_write, peer_size = path.stat().st_size / SAMPLES, 0, 0, 0
    if python:
        script = scratch / "peer.py"
        script.write_text(PEER)
        peer_read, peer_write = peer(python, script, path, scratch)
        peer_size = (scratch / "peer.tach").stat().st_size / SAMPLES
        # the same samples and names: CPython's file has only those that are used
        again = scratch / "again.tach"
        subprocess.run([tachbpf, "convert", scratch / "peer.tach", "-o", again], check=True)
        size = again.stat().st_size / SAMPLES
    rates(f"write zstd, depth {depth}", write, peer_write)
    rates(f"write uncompressed, depth {depth}", raw, 0)
    rates(f"read zstd, depth {depth}", read, peer_read)
    rates(f"size zstd, depth {depth}", size, peer_size, "bytes/sample", 1)
    ours = min(seconds([tachbpf, "convert", path, "-o", scratch / "c.collapsed", "--format",
                        "collapsed"]) for _ in range(3))
    line = f"{f'collapsed, depth {depth}':28} {ours:8.3f} s for {SAMPLES} samples"
    if python:
        theirs = seconds(python.command("-m", "profiling.sampling", "replay", "--collapsed", "-o",
                                        scratch / "p.collapsed", path))
        line += f"   CPython {theirs:8.2f}   ratio {theirs / ours:6.1f}"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--huge", action="store_true", help="also 2^32 samples (a minute)")
    options = parser.parse_args()
    tool, tachbpf = os.environ["BENCH_FILES"], os.environ["TACHBPF"]
    python = next((i for i in interpreters.discover() if i.name == "sid-3.15"), None)
    if not python:
        print("no CPython 3.15: nothing to compare with (sudo make interpreters)")
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-", dir="/tmp") as name:
        scratch = Path(name)
        scratch.chmod(0o755)
        for depth in DEPTHS:
            bench_depth(tool, tachbpf, python, scratch, depth)
        if options.huge:
            subprocess.run([tool, "huge", scratch / "huge.tach"], check=True)


main()
