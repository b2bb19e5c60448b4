# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs whose machine code is a trap: the recording goes on, and others' samples are complete.

Each trap is targets/hostile_code.py; beside it an honest program is recorded, which must lose
nothing; and no sample may take longer than it may.
"""
import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

import chains
import eh_frame
import fuse
import native_frames
import noise
from paths import TARGETS
from present import absent
from processes import TIMEOUT, kill, use_cpu
from recording import Recording, succeeded
from summary import files, lost_once_known
from target import Target

RATE = 1999
WORK_S = 1.0
LIMIT_NS = 60_000           # of a sample; a step that has begun may end
PERF_MAPS = ("symlink", "fifo", "foreign", "huge")


@pytest.fixture
def library(out):
    return eh_frame.good(out)


@contextlib.contextmanager
def trap(python, *argv, user=None):
    process = subprocess.Popen(python.command("-B", TARGETS / "hostile_code.py", *argv),
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        kill(process)
        for path in Path("/tmp").glob(f"perf-{process.pid}.map*"):
            path.unlink()


class Seen:
    """What a recording had of the trap and of the honest program."""

    def __init__(self, summary, trap, honest, oracle):
        self.summary = summary
        rows = {f["pid"]: f for f in files(summary)}
        self.row, self.honest = rows[trap], rows[honest]
        self.profile, self.honest_profile = oracle.load(self.row["path"], self.honest["path"])


def record(python, out, scratch, oracle, *argv, options=("--native=full",)):
    with trap(python, *argv) as process, \
            Target(python, scratch, f"shares={WORK_S}", name="honest") as honest:
        # A trap may have more mappings than a Python may be slow to look at.
        argv = ["-p", f"{process.pid},{honest.pid}", "-r", RATE, "-o", out / "rec", "--self-time",
                "--json", *options]
        with Recording(argv) as recording:
            recording.wait_recording(timeout=TIMEOUT)
            stolen = noise.stolen_s()
            honest.go()
            truth = honest.wait_done()
            use_cpu(process.pid, 0.3)
            start = time.monotonic()
            summary = succeeded(recording.stop()).summary
            stopped_s = time.monotonic() - start
        seen = Seen(summary, process.pid, truth["pid"], oracle)
    seen.stopped_s = stopped_s
    check_honest(seen, truth, noise.missed(summary, noise.stolen_s() - stolen))
    return seen


def check_honest(seen, truth, missed):
    start, end = truth["clock"][0][0] // 1000, truth["clock"][-1][0] // 1000
    count = len(seen.honest_profile.between(start, end))
    lost = seen.summary["lost_total"]
    assert count in noise.count_bound(truth.cpu_between(start, end), RATE, missed + lost)
    assert not lost_once_known(seen.honest), seen.honest
    names = {f.func for s in seen.honest_profile.samples for f in s.frames}
    assert {"burn_sixty", "burn_thirty"} <= names


def check_trap(seen):
    """It has its Python functions, in their order; and says where C is not known."""
    assert seen.profile.samples
    for sample in seen.profile.samples:
        names = [f.func for f in sample.frames if native_frames.kind(f) == native_frames.PYTHON]
        if "<module>" in names and "burn_below" in names:
            assert names.index("burn_below") < names.index("<module>")
    burning = [s for s in seen.profile.samples if any(f.func == "burn_below" for f in s.frames)]
    assert burning


def test_tables_that_lie(python, out, scratch, oracle):
    paths = eh_frame.make(out)
    seen = record(python, out, scratch, oracle, "libraries", *paths)
    check_trap(seen)
    assert seen.summary["native"]["helper_restarts"] == 0, seen.summary["native"]
    inside = [s for s in seen.profile.samples if "call_it" in native_frames.natives(s)]
    assert inside and any(native_frames.causes(s) for s in inside)


def test_a_library_that_comes_and_goes(python, library, out, scratch, oracle):
    check_trap(record(python, out, scratch, oracle, "loading", library))


def test_mappings_that_come_and_go(python, library, out, scratch, oracle):
    check_trap(record(python, out, scratch, oracle, "mapping", library))


def test_as_many_mappings_as_a_process_may_have(python, library, out, scratch, oracle):
    large = out / "large.so"
    large.write_bytes(library.read_bytes() + bytes(4096 * 3000))
    check_trap(record(python, out, scratch, oracle, "many", large, 65000))


def test_a_library_that_shrinks(python, out, scratch, oracle):
    large = out / "large.so"
    large.write_bytes(Path("/lib/x86_64-linux-gnu/libc.so.6").read_bytes()
                      if os.path.exists("/lib/x86_64-linux-gnu/libc.so.6")
                      else eh_frame.good(out).read_bytes())
    check_trap(record(python, out, scratch, oracle, "shrinking", large))


@pytest.mark.parametrize("what", PERF_MAPS)
def test_a_perf_map_that_is_none(python, out, scratch, oracle, what):
    seen = record(python, out, scratch, oracle, "perf_map", what)
    check_trap(seen)
    names = {f.func for s in seen.profile.samples for f in s.frames}
    assert "secret_name" not in names
    assert seen.stopped_s < 30


def test_a_library_whose_server_never_answers(python, out, scratch):
    if not os.path.exists("/dev/fuse"):
        absent("no /dev/fuse")
    device = fuse.device(out)
    os.chmod(out, 0o755)
    with contextlib.ExitStack() as stack:
        for i, (place, user) in enumerate((("plain", None), ("overlay", fuse.NOBODY),
                                           ("reads", fuse.NOBODY))):
            stack.enter_context(fuse.Unanswering(device, out / f"fuse{i}", place, user=user))
        with Recording(["-a", "--native", "-o", out / "interrupted", "--json"]) as recording:
            recording.wait_recording()
            with Target(python, scratch, "shares=600") as target:
                target.go()
                use_cpu(target.pid, 0.5)
            summary = succeeded(recording.stop()).summary
    row, = [p for p in summary["processes"] if p["pid"] == target.pid]
    assert row["samples"] > 0


@pytest.mark.truth
def test_no_sample_takes_too_long(python, out, scratch, oracle):
    """The deepest stacks of C and Python, of code that was never seen before."""
    chain = "p" + 110 * "r" + "."
    with Target(python, scratch, chains.build(python, scratch), 20, *([chain] * 60), name="chains",
                program="chains/play_chains.py") as target, \
            Recording(["-p", target.pid, "--native", "-r", 9999, "-o", out / "rec", "--self-time",
                       "--json"]) as recording:
        recording.wait_recording()
        target.go()
        target.wait_done()
        target.leave()
        summary = succeeded(recording.wait()).summary
    cost = summary["sample_time"]
    print(json.dumps(cost))
    assert cost["p999_ns"] < 2 * LIMIT_NS, cost
