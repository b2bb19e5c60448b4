# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Shares of functions in C against perf's, which saw the same run."""
import collections
import shutil
import subprocess

import pytest

import native_frames
from paths import TARGETS
from present import absent, need
from processes import TIMEOUT, kill
from pypi import PyPI, path_of
from recording import Recording, succeeded
from summary import files

pytestmark = pytest.mark.truth

RATE, SECONDS = 1999, 10
WITHIN = 0.03           # of all samples: 0.6 % is the standard deviation of the difference

# library -> interpreter, its packages, beginnings of the names that are looked at
RUNS = {
    "json": ("pyenv-3.13.0", None, ("scanstring_unicode", "_parse_object_unicode", "scan_once_unicode")),
    "re": ("pyenv-3.13.0", None, ("sre_",)),
    "numpy": ("pyenv-3.12.1", ("NumPy", ("numpy==2.3.4",)), ("dgemm", "pocketfft", "DOUBLE_")),
    "zlib": ("pyenv-3.12.1", None, ("deflate", "inflate", "longest_match", "crc32", "adler32")),
}


def shares_of_perf(data, tid):
    """Name -> share of the samples whose stack has it."""
    done = subprocess.run(["perf", "script", "-i", data, "--tid", str(tid), "--no-inline", "-F",
                           "tid,ip,sym"], capture_output=True, text=True, timeout=TIMEOUT)
    stacks = [s.split("\n")[1:] for s in done.stdout.strip().split("\n\n")]
    return [{line.split(None, 1)[1] for line in stack if " " in line.strip()} for stack in stacks]


def share(stacks, beginning):
    found = [any(plain(name).startswith(beginning) for name in stack) for stack in stacks]
    return sum(found) / len(found)


def plain(name):
    return name.partition("+0x")[0]


@pytest.mark.parametrize("library", RUNS)
def test_shares_are_those_of_perf(library, out, scratch, root, oracle, capsys):
    if not shutil.which("perf"):
        absent("perf is not installed")
    python, packages, beginnings = RUNS[library]
    interpreter = need(python)
    where = [path_of(PyPI(packages[0], interpreter, packages[1]))] if packages else []
    argv = ["env", "OPENBLAS_NUM_THREADS=1", *interpreter.command(
        "-B", TARGETS / "libraries.py", library, *where)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True)
    data = out / "perf.data"
    try:
        assert process.stdout.readline() == "ready\n"
        with Recording(["-p", process.pid, "--native", "-r", RATE, "-o", out / "rec",
                        "--json"]) as recording:
            recording.wait_recording()
            done = subprocess.run(["perf", "record", "-q", "-F", str(RATE), "-e", "cpu-clock",
                                   "--call-graph", "dwarf", "-p", str(process.pid), "-o", data,
                                   "--", "sleep", str(SECONDS)], capture_output=True, text=True,
                                  timeout=TIMEOUT)
            assert done.returncode == 0, done.stderr
            summary = succeeded(recording.stop()).summary
    finally:
        kill(process)
    theirs = shares_of_perf(data, process.pid)
    profile, = oracle.load(*(f["path"] for f in files(summary) if f["pid"] == process.pid))
    ours = [set(native_frames.natives(s)) for s in profile.samples if s.tid == process.pid]
    assert min(len(theirs), len(ours)) > RATE * SECONDS / 4, (len(theirs), len(ours))
    both = {b: (share(ours, b), share(theirs, b)) for b in beginnings}
    with capsys.disabled():
        print(f"\n{library}: {len(ours)} and perf's {len(theirs)} samples; " + ", ".join(
            f"{b} {100 * a:.1f} % and {100 * p:.1f} %" for b, (a, p) in both.items()))
    seen = collections.Counter({b: p for b, (_, p) in both.items()})
    assert seen.most_common(1)[0][1] > 0.05, "perf sees none of them"
    assert all(abs(a - p) <= WITHIN for a, p in both.values()), both
