# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Code that a program has made: named by its perf map, and what is outside of it is said to be unknown."""
import contextlib
import os
import subprocess

import pytest

import native_frames
from interp import cache
from native_frames import NATIVE, PYTHON
from paths import TARGETS
from present import BY_NAME, absent, need
from processes import kill, ready, use_cpu
from pypi import PyPI, path_of
from recording import Recording, succeeded
from summary import files

RATE = 999
JIT, TIME_LIMIT = "JIT code", "time limit"


@contextlib.contextmanager
def running(argv):
    with ready(argv) as process:
        try:
            yield process
        finally:
            kill(process)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"/tmp/perf-{process.pid}.map")


def recorded(argv, out, oracle, function, *options):
    """The samples that have a function of Python's, of a program at work for a while."""
    with running(argv) as process, Recording(
            ["-p", process.pid, "-r", RATE, "-o", out / "rec", "--json", *options]) as recording:
        recording.wait_recording()
        use_cpu(process.pid, 1.5)
        summary = succeeded(recording.stop()).summary
    profile, = oracle.load(*(f["path"] for f in files(summary) if f["pid"] == process.pid))
    samples = [s for s in profile.samples if any(f.func == function for f in s.frames)]
    return samples[len(samples) // 2:]          # by then, tables and names are there


def python_names(sample):
    return [f.func for f in sample.frames if native_frames.kind(f) == PYTHON]


@pytest.mark.parametrize("named", (True, False), ids=("map", "no-map"))
def test_code_in_no_file_ends_the_machine_codes_part(named, python, scratch, out, oracle):
    argv = python.command(TARGETS / "jit_code.py", 600, *["map"] * named)
    samples = recorded(argv, out, oracle, "burn_below_code", "--native=full")
    assert len(samples) > 100
    seen = 0
    for sample in samples:
        assert python_names(sample) == ["burn_below_code", "call_code", "main", "<module>"]
        if native_frames.causes(sample) == [TIME_LIMIT]:    # the machine had other work in the midst of it
            continue
        assert native_frames.causes(sample) == [JIT], sample
        seen += 1
        mark = next(i for i, f in enumerate(sample.frames) if native_frames.cause(f))
        code = sample.frames[mark - 1]
        assert native_frames.kind(code) == NATIVE and native_frames.library(code) == "JIT"
        assert (code.func == "made_up_code") == named, code
        assert "call_code" in [f.func for f in sample.frames[mark:]]
        assert "burn_below_code" in [f.func for f in sample.frames[:mark]]
    assert seen > len(samples) / 2


CALLS = """
import sys
sys.path[:0] = [{targets!r}]
def innermost(n):
    for i in range(50):
        n ^= i
    return n
def sorts():
    sorted(range(50), key=innermost)
def maps():
    list(map(innermost, range(50)))
def outermost():
    while True:
        sorts()
        maps()
print("ready", flush=True)
outermost()
"""
# Each Python function is called through code of its own (perf_jit: since 3.13).
TRAMPOLINES = {"perf": ("-X", "perf"), "perf_jit": ("-X", "perf_jit")}
# Debian's are stripped: which of the interpreter's functions only pass calls on is not known there.
WITH_SYMBOLS = ("pyenv-3.12.1", "pyenv-3.13.0")


def calls(name, scratch, out, oracle, kind, *options):
    """Samples in the innermost function of CALLS, run by this interpreter with these trampolines; None: without."""
    program = CALLS.format(targets=str(scratch / "targets"))
    argv = need(name).command(*TRAMPOLINES.get(kind, ()), "-c", program)
    directory = out / (kind or "plain")
    directory.mkdir()
    samples = recorded(argv, directory, oracle, "innermost", *options)
    assert len(samples) > 100
    return samples


def outside_innermost(samples, with_c):
    """The stacks of those who call the innermost function, and of C functions only if this is set."""
    stacks = set()
    for sample in samples:
        names = [f.func for f in sample.frames if with_c or native_frames.kind(f) == PYTHON]
        assert names.count("innermost") == 1, sample        # not a second time, by its perf map
        stacks.add(tuple(names[names.index("innermost"):]))
    return stacks


@pytest.mark.parametrize("name", ("pyenv-3.12.1", "pyenv-3.13.0", "sid-3.14", "sid-3.15"))
def test_pythons_own_trampolines_change_no_stack(name, scratch, out, oracle):
    kinds = [None, "perf"] if name == "pyenv-3.12.1" else [None, *TRAMPOLINES]
    seen = {}
    for kind in kinds:
        samples = calls(name, scratch, out, oracle, kind, "--native")
        whole = [s for s in samples if not native_frames.causes(s)]
        assert len(whole) > 0.9 * len(samples)
        assert not any(native_frames.library(f) == "JIT" for s in whole for f in s.frames
                       if native_frames.kind(f) == NATIVE)
        seen[kind] = outside_innermost(whole, name in WITH_SYMBOLS)
    plain = seen.pop(None)
    assert {s[-3:] for s in plain} == {("sorts", "outermost", "<module>"), ("maps", "outermost", "<module>")}
    if name in WITH_SYMBOLS:
        assert {s[1] for s in plain} == {"list_sort_impl", "map_next"}
    for kind, stacks in seen.items():
        assert stacks == plain, kind


@pytest.mark.parametrize("name", ("pyenv-3.12.1", "pyenv-3.13.0", "sid-3.14", "sid-3.15"))
def test_pythons_own_trampolines_have_names(name, scratch, out, oracle):
    samples = calls(name, scratch, out, oracle, "perf", "--native=full")
    whole = [s for s in samples if not native_frames.causes(s)]
    assert len(whole) > 0.9 * len(samples)
    for sample in whole:
        assert python_names(sample)[0] == "innermost"
        assert python_names(sample)[2:] == ["outermost", "<module>"]
    names = {n.split(":")[2] for s in whole for n in native_frames.natives(s) if n.startswith("py::")}
    assert names == {"innermost", "sorts", "maps", "outermost", "<module>"}


def test_numba(out, root, scratch, oracle):
    if "pyenv-3.12.1" not in BY_NAME:
        absent("pyenv-3.12.1 is not installed")
    interpreter = BY_NAME["pyenv-3.12.1"]
    try:
        packages = path_of(PyPI("Numba", interpreter, ("numba==0.62.1",)))
    except (cache.Failed, OSError, subprocess.SubprocessError) as error:
        absent(f"numba cannot be had: {error}")
    argv = interpreter.command("-B", TARGETS / "libraries.py", "numba", packages)
    samples = recorded(argv, out, oracle, "loop", "--native")
    inside = [s for s in samples if JIT in native_frames.causes(s)]
    assert len(inside) > 0.9 * len(samples) > 100
    assert all(python_names(s)[-3:] == ["loop", "main", "<module>"] for s in inside)
    # what is made of Python's numbers and back is libpython's, called from code in no file
    innermost = [next(f for f in s.frames if native_frames.kind(f) == NATIVE) for s in inside]
    assert sum(native_frames.library(f) == "JIT" for f in innermost) > 0.9 * len(inside)
