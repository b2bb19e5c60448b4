# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Machine code of real libraries against gdb, a second unwinder, at the same stops.

gdb stops a program that works in a library; the profiler takes a sample of the thread that leaves
its CPU for that (mode offcpu). Both stacks are of one moment, so all their functions are the same.
"""
import contextlib
import shutil
import subprocess
from dataclasses import dataclass

import pytest

import gdb_stacks
import native_frames
from interp import cache
from paths import TARGETS
from present import BY_NAME, absent
from processes import kill, use_cpu
from pypi import PyPI, path_of
from recording import Recording, succeeded
from summary import files

pytestmark = pytest.mark.truth

STOPS, RATE = 40, 997
# Of session.json's ends: what the first moments have.
NOT_YET = ("table_not_ready", "mappings_unknown")
WHOLE = 0.95


@dataclass(frozen=True)
class Library:
    name: str               # in targets/libraries.py
    python: str
    program: str = ""       # for its directory of packages, which the zoo may share
    packages: tuple = ()


LIBRARIES = [
    *(Library(name, python) for name in ("json", "re", "zlib", "hashlib", "ssl", "sqlite3")
      for python in ("pyenv-3.13.0", "pyenv-3.6.15", "system-3.11")),
    Library("numpy", "pyenv-3.12.1", "NumPy", ("numpy==2.3.4",)),
    Library("pandas", "pyenv-3.12.1", "pandas", ("pandas==2.3.3",)),
    Library("lxml", "pyenv-3.13.0", "lxml", ("lxml==6.0.2",)),
    Library("pydantic", "pyenv-3.12.1", "pydantic", ("pydantic==2.12.4",)),
    Library("orjson", "pyenv-3.12.1", "orjson", ("orjson==3.11.4",)),
    Library("pyarrow", "pyenv-3.12.1", "pyarrow", ("pyarrow==22.0.0",)),
]


@contextlib.contextmanager
def running(library):
    """The process of a program that is at work in its library; it skips without its packages."""
    if library.python not in BY_NAME:
        absent(f"{library.python} is not installed")
    interpreter, packages = BY_NAME[library.python], []
    if library.packages:
        try:
            packages = [path_of(PyPI(library.program, interpreter, library.packages))]
        except (cache.Failed, OSError, subprocess.SubprocessError) as error:
            absent(f"{library.name} cannot be had: {error}")
    process = subprocess.Popen(
        ["env", "OPENBLAS_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1", *interpreter.command(
            TARGETS / "libraries.py", library.name, *packages)],
        stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        kill(process)


def pairs(found, samples, tid):
    """(stop, sample) of each stop that has one: all of a stop are of the same stack."""
    for stop in found:
        inside = [s for s in samples if s.tid == tid and stop.start_us <= s.time_us < stop.end_us]
        if inside:
            yield stop, inside[0]


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda l: f"{l.name}-{l.python}")
def test_the_same_functions_as_gdb(library, out, root, oracle, capsys):
    if not shutil.which("gdb"):
        absent("gdb is not installed")
    with running(library) as process:
        with Recording(["-p", process.pid, "-m", "offcpu", "--native=full", "-r", RATE, "-o",
                        out / "rec", "--json"]) as recording:
            recording.wait_recording()
            # The first stops are those in which tables are built.
            gdb_stacks.stops(process.pid, out / "first.json", 5)
            found = gdb_stacks.stops(process.pid, out / "stops.json", STOPS)
            summary = succeeded(recording.stop()).summary
    profile, = oracle.load(*(f["path"] for f in files(summary) if f["pid"] == process.pid))
    both = list(pairs(found, profile.samples, process.pid))
    wrong = [(stop, sample, why) for stop, sample in both
             for why in [gdb_stacks.difference(stop, sample)] if why]
    cut = [c for _, sample in both for c in native_frames.causes(sample)[:1]]
    with capsys.disabled():
        print(f"\n{library.name} {library.python}: {len(both)} of {len(found)} stops, "
              f"{len(wrong)} differ, {len(cut)} cut: {sorted(set(cut))}")
    assert len(both) >= 0.9 * len(found)
    for stop, sample, why in wrong[:3]:
        print(why, gdb_stacks.side_by_side(stop, sample), sep="\n")
    assert not wrong, [why for *_, why in wrong][:10]
    assert len(cut) <= (1 - WHOLE) * len(both), cut


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda l: f"{l.name}-{l.python}")
def test_nearly_all_stacks_are_whole(library, out, root, capsys):
    """Up to the thread's first function; and each that is not has its cause counted."""
    with running(library) as process, Recording(
            ["-p", process.pid, "--native", "-r", RATE, "-o", out / "rec", "--json"]) as recording:
        recording.wait_recording()
        use_cpu(process.pid, 2)
        summary = succeeded(recording.stop()).summary
    ends = {end: n for end, n in summary["native"]["ends"].items() if n}
    known = sum(n for end, n in ends.items() if end not in NOT_YET)
    with capsys.disabled():
        print(f"\n{library.name} {library.python}: {100 * ends['whole'] / known:.1f} % of {known} "
              f"are whole: {ends}")
    assert known >= 0.5 * sum(ends.values()) > 100
    assert ends["whole"] >= WHOLE * known, ends
