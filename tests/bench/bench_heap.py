#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-heap: what a census of a large heap takes, and what the process that it reads feels of it.

Seconds and CPU seconds are the worker's own, its memory is VmHWM of the worker. The slowdown is CPU time of the same work
with one census a second against none, in turn; "none, once more" is what the machine's other work makes of it. Beside it
gc.get_objects() with sys.getsizeof() in the process itself, which stops for as long.
"""
import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import interpreters  # noqa: E402
from processes import family, kill  # noqa: E402

AIM = "aims for 1 GB: 1 s, 0.5 s of CPU, 64 MiB, 1 %"
TACHBPF = os.environ.get("TACHBPF", "tachbpf")
WORKER = "tachbpf-heap"


@contextlib.contextmanager
def program(argv):
    process = subprocess.Popen([*map(str, argv)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               start_new_session=True)
    try:
        if process.stdout.readline() != "ready\n":
            raise SystemExit(f"bench: {argv} did not start")
        yield process
    finally:
        kill(process)


def ask(process, what):
    process.stdin.write(what + "\n")
    process.stdin.flush()
    return tuple(map(float, process.stdout.readline().split()))


def peak_of(pid, peaks):
    """Notes the most memory that the worker below a process has had."""
    for one in family(pid):
        with contextlib.suppress(OSError):
            status = dict(line.split(":\t", 1) for line in Path(f"/proc/{one}/status").read_text().splitlines()
                          if ":\t" in line)
            if status.get("Name") == WORKER and "VmHWM" in status:
                peaks.append(int(status["VmHWM"].split()[0]) / 1024)


def census(pid, peaks=None):
    looks = subprocess.Popen([TACHBPF, "heap", "--json", str(pid)], stdout=subprocess.PIPE, text=True)
    done = []
    reader = threading.Thread(target=lambda: done.append(looks.communicate()[0]))
    reader.start()
    while reader.is_alive():
        if peaks is not None:
            peak_of(looks.pid, peaks)
        time.sleep(0.002)
    if looks.returncode:
        raise SystemExit(f"bench: a census of {pid} failed")
    process, = json.loads(done[0])["processes"]
    return process


def spread(values, unit, digits):
    return (f"{statistics.median(values):.{digits}f} {unit} ({min(values):.{digits}f} to "
            f"{max(values):.{digits}f})")


def costs(pid, repeats):
    peaks = []
    seen = [census(pid, peaks) for _ in range(repeats)]
    last = seen[-1]
    print(f"  RSS {last['rss'] / 1e9:.2f} GB, {last['pools']:,} pools, {last['pools_read']:,} of them read")
    print(f"  a census: {spread([c['took'] for c in seen], 's', 3)}, CPU {spread([c['cpu'] for c in seen], 's', 3)}, "
          f"memory {max(peaks):.0f} MiB")
    for row in last["types"][:5]:
        print(f"    {row['type']:24}{row['objects']:12,} +- {row['objects_error']:<9,}{row['bytes']:15,} +- "
              f"{row['bytes_error']:,}")


def with_censuses(process):
    """CPU seconds of a round while there is a census each second."""
    end = threading.Event()

    def look():
        while not end.is_set():
            begin = time.monotonic()
            census(process.pid)
            end.wait(max(0, 1 - (time.monotonic() - begin)))
    thread = threading.Thread(target=look)
    thread.start()
    try:
        return ask(process, "go")[1]
    finally:
        end.set()
        thread.join()


def slowdown(process, repeats):
    slower, noise = [], []
    for _ in range(repeats):
        before = ask(process, "go")[1]
        took = with_censuses(process)
        after = ask(process, "go")[1]
        slower.append(200 * took / (before + after) - 100)
        noise.append(100 * after / before - 100)
    print(f"  the process, with a census each second: {spread(slower, '% more CPU', 2)}; none, once more: "
          f"{spread(noise, '%', 2)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--mib", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="of each run of the work")
    parser.add_argument("interpreters", nargs="*", default=["system-3.11"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tachbpf-bench-heap-", dir="/tmp") as name:
        shutil.copy(HERE / "heap_of.py", name)
        Path(name).chmod(0o755)
        for interpreter in interpreters.discover():
            if interpreter.name not in args.interpreters:
                continue
            print(f"{interpreter}, {args.mib} MiB of objects ({AIM}), median and range:", flush=True)
            with program(interpreter.command(f"{name}/heap_of.py", args.mib, args.seconds)) as process:
                costs(process.pid, args.repeats)
                slowdown(process, args.repeats)
                types, seconds = ask(process, "gc")
                print(f"  gc.get_objects() and sys.getsizeof() in the process: {seconds:.2f} s, {types:.0f} types",
                      flush=True)


main()
