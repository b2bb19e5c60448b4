# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that have slept since before anybody looked: the functions of C in which they wait, against gdb."""
import shutil
from collections import namedtuple
from types import SimpleNamespace

import pytest

import gdb_stacks
import native_frames
from hung import Hung, by_tid, dump
from present import absent, need
from recording import Recording, succeeded
from summary import files

KINDS = ("lock", "pipe", "socket", "nap", "poll", "pause", "callback")
# The function of libc in which each of them waits, in glibc.
INNERMOST = {"pipe": "read", "socket": "recv", "nap": "nanosleep|select", "poll": "poll", "pause": "pause",
             "callback": "nanosleep|select", "lock": "futex|sem_wait"}
INTERPRETERS = ("pyenv-3.9.18", "system-3.11", "pyenv-3.13.0")
Frame = namedtuple("Frame", "func file")


def sample_of(thread):
    return SimpleNamespace(frames=[Frame(f["function"], f["file"]) for f in thread["frames"]])


def check_innermost(kind, names):
    assert any(name in names[0] for name in INNERMOST[kind].split("|")), (kind, names)


@pytest.mark.parametrize("name", INTERPRETERS)
def test_a_look_has_the_functions_that_gdb_has(name, scratch, out):
    if not shutil.which("gdb"):
        absent("gdb is not installed")
    with Hung(need(name), scratch, *KINDS) as hung:
        hung.asleep()
        process, = dump(hung.pid, "--native=full")["processes"]
        gdbs = gdb_stacks.threads(hung.pid, out / "threads.json")
    threads = by_tid(process)
    for tid, kind in {**hung.kinds, hung.truth["main"]: "pipe"}.items():
        sample = sample_of(threads[tid])
        assert not native_frames.causes(sample), threads[tid]
        check_innermost(kind, native_frames.natives(sample))
        why = gdb_stacks.difference(gdbs[tid], sample)
        assert not why, f"{kind}: {why}\n{gdb_stacks.side_by_side(gdbs[tid], sample)}"


@pytest.mark.parametrize("name", INTERPRETERS)
def test_a_recording_has_them_too(name, scratch, out, oracle):
    """No thread wakes up while it records."""
    with Hung(need(name), scratch, *KINDS) as hung:
        hung.asleep()
        with Recording(["-p", hung.pid, "-m", "offcpu", "--native", "-o", out / "rec", "--json"]) as recording:
            recording.wait_recording()
            summary = succeeded(recording.stop()).summary
    profile, = oracle.load(*(f["path"] for f in files(summary) if f["pid"] == hung.pid))
    for tid, kind in hung.kinds.items():
        stacks = {s.frames for s in profile.samples if s.tid == tid}
        assert len(stacks) == 1, (kind, stacks)
        sample = SimpleNamespace(frames=stacks.pop())
        assert not native_frames.causes(sample), sample
        check_innermost(kind, native_frames.natives(sample))
