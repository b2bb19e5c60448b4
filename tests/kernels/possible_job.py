# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What tests/bench/bench_possible.py does inside a guest, by the guest's own Python:
possible_job.py DISK. Memory in KiB before tachbpf records, and meanwhile. What the kernel has for
each CPU is freed late, so the first figure is the one before all recordings."""
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import time

from recording import Recording

TACHBPF = os.environ["TACHBPF"]
MODES = {"-a": [], "-a -m wall": ["-m", "wall"], "-a --native": ["--native"]}


def kib(path, field):
    with open(path) as f:
        found = re.search(r"^%s:\s+(\d+) kB" % field, f.read(), re.M)
    return int(found[1]) if found else 0


def percpu():
    return kib("/proc/meminfo", "Percpu")


def pss():
    """Of all processes of tachbpf."""
    total = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink("/proc/%s/exe" % pid) == TACHBPF:
                total += kib("/proc/%s/smaps_rollup" % pid, "Pss")
        except OSError:
            pass    # it has ended
    return total


def measure(name, more):
    with Recording(["-a", *more, "-r", "99", "--no-sample-limit", "-o", "/tmp/out" + name]) as recording:
        recording.wait_recording(timeout=90)
        time.sleep(5)
        during, own = percpu(), pss()
        finished = recording.stop()
    return {"during": during, "pss": own, "status": finished.returncode,
            "stderr": finished.stderr}


def write(disk, result):
    with open(disk, "r+b") as raw, tarfile.open(fileobj=raw, mode="w|") as tar:
        for name, data in (("result.json", json.dumps(result).encode()), ("end", b"")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def main():
    busy = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
    result = {"possible": os.sysconf("SC_NPROCESSORS_CONF"), "release": os.uname().release, "before": percpu(),
              "modes": {name: measure(name, more) for name, more in MODES.items()}}
    busy.kill()
    write(sys.argv[1], result)


main()
