# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Profiles as CPython 3.15 reads them: samples, frames, and the words for both."""
import collections
import json
import os
import subprocess
from pathlib import Path

from processes import TIMEOUT

HAS_GIL, ON_CPU, UNKNOWN, GIL_REQUESTED, HAS_EXCEPTION, MAIN_THREAD = 1, 2, 4, 8, 16, 32
MAX_FRAMES = 256

Frame = collections.namedtuple("Frame", "file func line end_line col end_col opcode")
Sample = collections.namedtuple("Sample", "time_us tid interp status frames")

SYNTHETIC = "~"
GC = (SYNTHETIC, "<GC>")
TRUNCATED = "<truncated>"
UNREADABLE = "<unreadable frame>"
NO_PYTHON, NATIVE_THREAD = "<no Python frame>", "<native thread"


class Profile:
    """One TACH file as CPython 3.15's own reader decodes it."""

    def __init__(self, decoded):
        self.path = decoded["path"]
        self.info = decoded["info"]
        self.replayed = decoded["replayed"]
        frames = [Frame(*f) for f in decoded["frames"]]
        stacks = [tuple(frames[i] for i in s) for s in decoded["stacks"]]
        self.samples = sorted(
            (Sample(t, tid, interp, status, stacks[stack])
             for tid, interp, status, stack, times in decoded["samples"] for t in times),
            key=lambda s: (s.time_us, s.tid))

    def between(self, start_us, end_us):
        return [s for s in self.samples if start_us <= s.time_us < end_us]

    def phase(self, truth, name):
        return self.between(*truth.window_us(name))


def leaf_is(sample, function):
    return bool(sample.frames) and sample.frames[0].func == function


def names(sample):
    return [(f.file, f.func) for f in sample.frames]


def outside_python(sample):
    """Is it CPU time of a thread that had no Python frame? Below a frame of its process at most."""
    inner = sample.frames[0] if sample.frames else None
    return bool(inner) and inner.file == SYNTHETIC and inner.func.startswith(
        (NO_PYTHON, NATIVE_THREAD))


def inside_python(samples):
    return [s for s in samples if not outside_python(s)]


def without_gc(sample):
    """The sample's frames less a <GC> marker on top."""
    frames = sample.frames
    return frames[1:] if frames and (frames[0].file, frames[0].func) == GC else frames


def fraction(samples, test):
    """Of how many of the samples test() is true; at least 50 are needed to say anything."""
    assert len(samples) >= 50, f"only {len(samples)} samples to judge by"
    return sum(map(bool, map(test, samples))) / len(samples)


class Oracle:
    """CPython 3.15's own reader and exporters, inside the root that has a Python 3.15."""

    def __init__(self, interpreter, scratch):
        self.interpreter = interpreter
        self.scratch = Path(scratch)

    def load(self, *paths):
        """Profiles of the files, decoded by one Python process."""
        out = self.scratch / f"decoded-{os.urandom(4).hex()}.json"
        self.run(self.scratch / "oracle.py", out, *paths)
        with open(out) as f:
            profiles = [Profile(json.loads(line)) for line in f]
        out.unlink()
        return profiles

    def replay(self, fmt, path):
        """The CLI's own conversion: the file it writes."""
        out = self.scratch / f"replay-{os.urandom(4).hex()}"
        self.run("-m", "profiling.sampling", "replay", "--" + fmt, "-o", out, path)
        return out

    def run(self, *argv):
        done = subprocess.run(self.interpreter.command(*argv), capture_output=True, text=True,
                              timeout=TIMEOUT)
        assert done.returncode == 0, f"CPython's reader: {done.stderr or done.stdout}"
        return done.stdout
