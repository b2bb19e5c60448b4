#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-fleet: bytes that an agent sends for a window of 15 s, by rate and number of services.

The agent's own requests, of programs that use the standard library (mixed.py), and, as the worst case, of
programs whose every sample has another stack (many_stacks.py). --keep: the requests of the last
window of each case, not compressed, for replay_hosts.py.
"""
import argparse
import signal
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e" / "lib")]

import cgroups  # noqa: E402
from agent import decoded  # noqa: E402
from bench_agent import measured, pythons  # noqa: E402

WINDOW_S, DAY = 15, 86400
CASES = [("mixed.py", services, rate) for services in (5, 20, 50) for rate in (19, 99)]
CASES += [("mixed.py", 50, 999), ("many_stacks.py", 50, 99), ("many_stacks.py", 50, 999)]


def whole_window(sink):
    """The requests of a window that was not cut, or None."""
    windows = {}
    for posted in sink.taken():
        for _, profiles in decoded(posted).resources:
            for p in profiles:
                if p["duration"] == WINDOW_S * 10**9:
                    windows.setdefault(p["time"], {})[id(posted)] = posted
    return list(windows[max(windows)].values()) if windows else None


def measure(tree, scratch, case, keep):
    program, services, rate = case
    with pythons(tree, scratch, services, services, program, "SEED") as where, \
            measured(tree, scratch, "--rate", rate, "--cgroup", where) as m:
        m[2].wait(whole_window, 120)
        requests = whole_window(m[2])
    samples, stacks, seen = 0, set(), set()
    for posted in requests:
        for attributes, profiles in decoded(posted).resources:
            seen.add(attributes["service.name"])
            for p in profiles:
                samples += sum(value for _, value, _ in p["samples"])
                stacks.update(stack for stack, _, _ in p["samples"])
    plain, zipped = sum(len(p.body) for p in requests), sum(len(p.raw) for p in requests)
    print(f"{program:15} {rate:5} {len(seen):9} {samples:9} {len(stacks):8} {plain:10,} {zipped:9,} "
          f"{plain * DAY / WINDOW_S / 1e6:9.1f} {zipped * DAY / WINDOW_S / 1e6:9.1f}", flush=True)
    if keep:
        place = keep / f"{program[:-3]}-{services}-{rate}"
        place.mkdir(parents=True, exist_ok=True)
        for number, posted in enumerate(requests):
            (place / f"{number}.otlp").write_bytes(posted.body)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))      # its Pythons end, too
    print(f"{'program':15} {'Hz':>5} {'services':>9} {'samples':>9} {'stacks':>8} {'bytes':>10} "
          f"{'gzip':>9} {'MB a day':>9} {'gzip':>9}")
    with tempfile.TemporaryDirectory(prefix="tachbpf-fleet-") as directory:
        Path(directory).chmod(0o755)
        for case in CASES:
            with cgroups.Tree(cgroups.v2()) as tree:
                measure(tree, Path(directory), case, args.keep)


if __name__ == "__main__":
    main()
