# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""However a library is mapped, its functions are unwound and named as if nothing had been done to it."""
import re
import shutil

import pytest

import native_frames
from native_frames import NATIVE, PYTHON
from paths import TARGETS
from processes import ready, use_cpu
from recording import Recording, succeeded, tachbpf
from summary import files

RATE = 999
TIME_LIMIT = "time limit"
CHANGED = ("hook", "writable", "copied")
NOT_YET = ("table_not_ready", "mappings_unknown", "not_mapped")
LIBRARY = {"memfd": "memfd:code"}


WORK = """
import json, time
end = time.process_time() + 2
text = json.dumps({"a": [1, 2.5, "xxxx"] * 200})
while time.process_time() < end:
    json.loads(text)
"""


def first_moments(command, out, cache):
    """How stacks end in two seconds of CPU time; whether tables must be built or are on disk."""
    if cache == "empty":
        shutil.rmtree("/var/cache/tachbpf/unwind", ignore_errors=True)
    done = succeeded(tachbpf("-r", RATE, "-o", out / "rec", "--json", "--native", "--", *command))
    ends = done.summary["native"]["ends"]
    stacks = sum(ends.values())
    assert stacks > 1000
    early = {end: n for end, n in ends.items() if end in NOT_YET and n}
    assert sum(early.values()) <= 0.01 * stacks, early


@pytest.mark.truth
@pytest.mark.parametrize("cache", ("empty", "full"))
def test_the_first_moments_of_a_command_are_whole(cache, interpreter, out):
    if interpreter.root:
        pytest.skip("chroot executes it, and its path is searched in our root")
    first_moments(interpreter.command("-c", WORK), out, cache)


@pytest.mark.truth
@pytest.mark.parametrize("cache", ("empty", "full"))
@pytest.mark.parametrize("how", (("env", "A=1"), ("timeout", "60"), ("nice", "-n", "1"), "script"))
def test_the_first_moments_of_what_a_wrapper_executes_are_whole(how, cache, python, out):
    command = python.command("-c", WORK)
    if how == "script":
        script = out / "script"
        script.write_text(f"#!/usr/bin/env {command[0]}\n{WORK}")
        script.chmod(0o755)
        command, how = [script], ()
    first_moments([*how, *command], out, cache)


@pytest.mark.parametrize("how", ("mprotect", "plain", "mlock", "madvise", "hook", "hooks", "writable", "copied",
                                 "deleted", "memfd"))
def test_its_function_is_unwound_and_named(how, python, scratch, out, oracle):
    argv = python.command(TARGETS / "split_code.py", how, scratch)
    with ready(argv) as process, Recording(
            ["-p", process.pid, "-r", RATE, "-o", out / "rec", "--json", "--native"]) as recording:
        recording.wait_recording()
        use_cpu(process.pid, 1.5)
        summary = succeeded(recording.stop()).summary
    one, = (f for f in files(summary) if f["pid"] == process.pid)
    profile, = oracle.load(one["path"])
    samples = [s for s in profile.samples if any(f.func == "burn" for f in s.frames)]
    samples = samples[len(samples) // 2:]           # by then, its table is there
    inside = [s for s in samples if native_frames.kind(s.frames[0]) == NATIVE
              and native_frames.library(s.frames[0]) == LIBRARY.get(how, "libcopy.so")]
    assert len(inside) > 0.8 * len(samples) > 50
    for sample in inside:
        assert set(native_frames.causes(sample)) <= {TIME_LIMIT}, sample
        names = [f.func for f in sample.frames if native_frames.kind(f) == PYTHON]
        assert names == ["burn", "main", "<module>"]
        offset = re.search(r"\+0x([0-9a-f]+)$", sample.frames[0].func)
        assert not offset or int(offset[1], 16) < 1 << 30, sample     # in the library, not in the process
    assert any("crc32" in n for s in inside for n in native_frames.natives(s))
    process, = summary["processes"]
    changed, stacks = process["native"]["changed"], sum(process["native"]["ends"].values())
    if how in CHANGED:
        assert changed > 0.5 * stacks
    elif how != "hooks":
        assert changed == 0
