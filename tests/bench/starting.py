# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A recording's start as benchmarks see it: when the ticks begin, what all its processes took by then."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e" / "lib"))

from processes import family_cpu_s, kill  # noqa: E402

POLL_S = 0.0005
PATIENCE_S = 60


def timer(pid):
    """fdinfo of the timer that a recording arms once all CPUs tick; None: it has none yet."""
    with contextlib.suppress(OSError):
        for fd in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if "timerfd" in os.readlink(fd):
                    return Path(f"/proc/{pid}/fdinfo/{fd.name}")
    return None


def is_armed(info):
    text = info.read_text()
    return not ("ticks: 0\n" in text and "it_value: (0, 0)" in text)


@contextlib.contextmanager
def recording(binary, argv, scratch):
    """(process, seconds from its exec to the ticks, CPU seconds of all its processes by then)."""
    place = tempfile.mkdtemp(dir=scratch)
    begin = time.monotonic()
    process = subprocess.Popen([str(binary), *map(str, argv), "-o", f"{place}/recording"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        info = None
        while info is None or not is_armed(info):
            if process.poll() is not None or time.monotonic() > begin + PATIENCE_S:
                raise SystemExit(f"bench: {binary} {argv} does not record: {process.stderr.read().decode()}")
            time.sleep(POLL_S)
            info = info or timer(process.pid)
        took = time.monotonic() - begin
        yield process, took, family_cpu_s(process.pid)
    finally:
        kill(process)
        shutil.rmtree(place)
