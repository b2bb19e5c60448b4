# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""starts.py COUNT PER_SECOND MS: starts so many processes, each of which imports much and then runs for
MS milliseconds of CPU time 60 functions deep."""
import subprocess
import sys
import time

DEPTH = 60
CHILD = """
import sys, time
import json, email.message, logging
def step_0():
    end = time.process_time() + float(sys.argv[1]) / 1000
    while time.process_time() < end:
        pass
""" + "".join(f"""
def step_{i}():
    return step_{i - 1}()
""" for i in range(1, DEPTH)) + f"""
step_{DEPTH - 1}()
"""


def main():
    count, per_second, cpu_ms = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    begin, started, live = time.monotonic(), 0, []
    while started < count:
        live = [process for process in live if process.poll() is None]
        if started < (time.monotonic() - begin) * per_second and len(live) < 64:
            live.append(subprocess.Popen([sys.executable, "-c", CHILD, cpu_ms]))
            started += 1
        else:
            time.sleep(0.002)
    for process in live:
        process.wait()


main()
