# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Of a stack that is too deep for a record or for a sample, both ends are there, and the number of
frames between them is right.

The program knows its depth: outside of a leaf below N calls are as many frames as N calls have, and what
starts a program. Shallow stacks, which are whole, tell how many both are.
"""
import collections
import re

import pytest

import native_frames
from processes import ready, use_cpu
from profiles import MAX_FRAMES, SYNTHETIC
from recording import Recording, succeeded
from summary import files

pytestmark = pytest.mark.interpreters("few")

RATE = 199
SHALLOW = (5, 10)
DEEP = (60, 100, 180)   # deeper than a sample; than a record, too; almost as deep as Python's part
SECONDS = 2


def recorded(interpreter, scratch, out, oracle):
    """The samples, and what session.json says of all."""
    argv = interpreter.command(scratch / "targets" / "deep_native.py", 600, *SHALLOW, *DEEP)
    with ready(argv) as process, Recording(
            ["-p", process.pid, "-r", RATE, "-o", out / "rec", "--json", "--native=full",
             "--no-sample-limit"]) as recording:        # a stall of the machine cuts no stack
        recording.wait_recording()
        use_cpu(process.pid, SECONDS)
        summary = succeeded(recording.stop()).summary
    profile, = oracle.load(*(f["path"] for f in files(summary) if f["pid"] == process.pid))
    return profile.samples, summary


def left_out(frame):
    """How many frames this one stands for; None: it is no such frame."""
    found = frame.file == SYNTHETIC and re.fullmatch(r"<\.\.\. (\d+) frames \.\.\.>", frame.func)
    return int(found[1]) if found else None


def leaf_of(sample):
    """Where its burn_N is; None: it is elsewhere, as in the end of lists that are as deep."""
    return next((i for i, f in enumerate(sample.frames) if f.func.startswith("burn_")), None)


def below(samples):
    """N -> numbers of frames outside of burn_N, with those that were left out -> samples."""
    seen = collections.defaultdict(collections.Counter)
    for sample in samples:
        leaf = leaf_of(sample)
        if leaf is None or native_frames.causes(sample):
            continue
        outside = sample.frames[leaf + 1:]
        seen[int(sample.frames[leaf].func[len("burn_"):])][
            sum(1 if left_out(f) is None else left_out(f) for f in outside)] += 1
    return seen


def functions(frames):
    return [f.func for f in frames if native_frames.is_python(f)]


def test_both_ends_are_kept(interpreter, scratch, out, oracle):
    if interpreter.libc == "musl":
        pytest.skip("no stack begins in code with call frame information")
    samples, summary = recorded(interpreter, scratch, out, oracle)
    seen = below(samples)
    assert set(seen) == {*SHALLOW, *DEEP}, seen
    assert all(len(numbers) == 1 for numbers in seen.values()), seen
    depth = {n: next(iter(numbers)) for n, numbers in seen.items()}
    few, more = SHALLOW
    call, rest = divmod(depth[more] - depth[few], more - few)
    assert not rest and call > 2, depth
    for n in DEEP:
        assert depth[n] == depth[few] + call * (n - few), (n, call, depth)
    gaps = 0
    for sample in samples:
        at = [i for i, f in enumerate(sample.frames) if left_out(f) is not None]
        if not at or leaf_of(sample) is None or native_frames.causes(sample):
            continue
        gaps += 1
        place, = at
        inner, outer = functions(sample.frames[:place]), functions(sample.frames[place:])
        assert len(sample.frames) == MAX_FRAMES
        assert inner[-1] == "down" and outer[-2:] == ["main", "<module>"], sample
        assert set(outer[:-2]) == {"down"} and len(outer) > 5 and len(inner) > 5, sample
    assert gaps and summary["shortened"] >= gaps
    assert summary["frames_left_out"] > summary["shortened"] * call
