#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-flight: what `tachbpf record -a --keep` takes on a host with many Pythons, in each minute.

Each of them works a little, ten times a second. Beside it a recording to files of the same processes. RSS, and
tachbpf's own CPU time; what its BPF programs take is the same for both.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e" / "lib"))

from processes import cpu_s, kill  # noqa: E402

TACHBPF = os.environ["TACHBPF"]
WORK = "import time\nwhile True:\n    sum(range(2000))\n    time.sleep(0.1)"


def memory_mib(pid):
    """RSS of the main process; its workers are the same for every recording."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


def measure(label, minutes, *argv):
    with subprocess.Popen([TACHBPF, *argv], stderr=subprocess.PIPE, text=True) as process:
        for minute in range(1, minutes + 1):
            own = cpu_s(process.pid)
            time.sleep(60)
            print(f"{label}, minute {minute}: RSS {memory_mib(process.pid):.1f} MiB, "
                  f"{(cpu_s(process.pid) - own) / 0.6:.2f} % of a CPU", flush=True)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        said = process.stderr.read()
        process.wait()
        written = re.search(r"samples +(\d+)", said)
        print(f"{label}, the end: {written.group(1) if written else 'no'} samples in "
              f"{time.monotonic() - begin:.2f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pythons", type=int, default=500)
    parser.add_argument("--minutes", type=int, default=3)
    parser.add_argument("--keep", default="60s")
    args = parser.parse_args()
    pythons = [subprocess.Popen([sys.executable, "-S", "-c", WORK], start_new_session=True)
               for _ in range(args.pythons)]
    try:
        time.sleep(5)
        with tempfile.TemporaryDirectory() as scratch:
            measure(f"--keep {args.keep}", args.minutes, "-a", "--keep", args.keep, "-o", f"{scratch}/kept")
            measure("to files", args.minutes, "-a", "-o", f"{scratch}/files")
    finally:
        for process in pythons:
            kill(process)


main()
