# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""However a CPython was built and wherever it is: it is found, and its stacks are right."""
import json
import subprocess

import pytest

import embedders
from e2e_fixtures import FOUND, need
from embedders import Embedder, burn_in, link_shared
from harness import Recording, files, names, succeeded

RATE = 999
STACK = [("<string>", "embedded_leaf"), ("<string>", "embedded_caller"), ("<string>", "<module>")]


@pytest.fixture(scope="session")
def kits():
    """Name -> Kit, asked once."""
    return {}


def kit_of(kits, interpreter):
    if interpreter.name not in kits:
        kits[interpreter.name] = embedders.kit(interpreter)
    return kits[interpreter.name]


@pytest.fixture
def kit(kits, interpreter):
    return kit_of(kits, interpreter)


def build(how, kit, out, *flags):
    """A program, or SKIP with what the compiler said."""
    error = how(kit, out, *flags)
    if error:
        pytest.skip(f"cannot be linked here: {error.strip().splitlines()[-1][:200]}")
    return out


def stacks_are_right(samples, least=0.98):
    """Of samples of burn.py."""
    assert len(samples) >= 30, f"only {len(samples)} samples"
    right = sum(names(s) == STACK or names(s)[:2] == STACK[1:] for s in samples)
    assert right >= least * len(samples), [names(s) for s in samples if names(s) != STACK][:5]


def all_there(samples, run, rate=RATE, late_s=0.0):
    """As many samples as the run had CPU time, but for late_s; 5 % are the clock's."""
    expected = (run.cpu_s - late_s) * rate
    assert len(samples) >= 0.95 * expected - 3, (len(samples), expected)
    assert len(samples) <= 1.05 * run.cpu_s * rate + 3, (len(samples), run.cpu_s * rate)


def during(profile, run):
    return [s for s in profile.between(run.wall_start // 1000, run.wall_end // 1000) if s.frames]


def profiles_of(finished, oracle):
    """pid -> Profile of a recording."""
    found = files(finished.summary)
    return dict(zip([f["pid"] for f in found], oracle.load(*[f["path"] for f in found])))


def record_runs(program, select, out, rate=RATE):
    """Profile an embedder from "ready" to "done". (finished, its runs)"""
    with Recording([*select, "-r", rate, "-o", out, "--json"]) as recording:
        recording.wait_recording()
        program.go()
        runs = program.wait_done()
        return succeeded(recording.stop()), runs


# ---- programs that are linked to libpython ----

def test_a_program_linked_to_libpython(kit, scratch, out, oracle):
    """Python in its main thread and in one that it made itself; -p before it begins."""
    exe = build(link_shared, kit, out / "linked")
    burn = burn_in(scratch)
    with Embedder(kit, exe, "wait", "init=0", f"run=0:{burn}", f"thread=0:{burn}",
                  "pause") as program:
        finished, runs = record_runs(program, ["-p", program.pid], out / "p.tach")
    profile = oracle.load(out / "p.tach")[0]
    assert list(profile.info["python_version"]) == list(kit.interpreter.version)
    for run in runs:
        stacks_are_right(during(profile, run))
        all_there(during(profile, run), run)
    tids = {s.tid for s in during(profile, runs[1])}
    assert len(tids) == 1 and program.pid not in tids
    assert not [s for s in profile.samples if s.status & 16], "no exception was there"


# ---- programs that load it late ----

@pytest.mark.parametrize("how", ["local", "global"])
def test_a_program_that_loads_libpython_late(kit, how, scratch, out, oracle):
    """Seen as "not Python" for a second, then it dlopens: -a finds it, at its default rate."""
    exe = scratch / "late-embedder"
    if not exe.exists():
        build(lambda _, path: embedders.cc(path), kit, exe)
    burn = burn_in(scratch)
    with Embedder(kit, exe, "wait", "spin=1500", f"{how}={kit.shared}", "init=0", f"run=0:{burn}",
                  f"run=0:{burn}", "pause", env={"BURN_S": "1"}) as program:
        finished, runs = record_runs(program, ["-a"], out / "a", rate=99)
    profile = profiles_of(finished, oracle)[program.pid]
    stacks_are_right(during(profile, runs[0]) + during(profile, runs[1]))
    all_there(during(profile, runs[0]), runs[0], rate=99, late_s=0.1)
    all_there(during(profile, runs[1]), runs[1], rate=99)
