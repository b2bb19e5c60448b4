# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a recording shows of an interpreter whose symbols were stripped."""
import json
import re
import subprocess

import pytest

import native_frames
from paths import binary
from present import absent, need
from processes import TIMEOUT
from summary import files

ROUNDS = 100            # half a second
NAMES = {"_json.Encoder.__call__", "_json.Scanner.__call__", "re.Pattern.findall", "zlib.compress", "list.sort"}
ADDRESS = re.compile(r"\+0x[0-9a-f]+$")


@pytest.fixture
def stripped(scratch, out, oracle):
    """Its samples, but for those that were taken before tables and functions were known."""
    interpreter = need("system-3.11")
    sections = subprocess.run(["readelf", "-SW", *interpreter.images[:1]], capture_output=True, text=True,
                              check=True, timeout=TIMEOUT).stdout
    if ".symtab" in sections:
        absent("the system's Python is not stripped")
    return lambda option: record(interpreter, scratch, out / "rec", oracle, option)


def record(interpreter, scratch, out, oracle, option):
    argv = [binary(), option, "-r", "1999", "-o", out, "--json", "--", *interpreter.command(
        "-S", scratch / "targets" / "c_functions.py", ROUNDS, "json", "re", "zlib", "sort")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout[done.stdout.index("{"):])
    profile, = oracle.load(*(f["path"] for f in files(summary)))
    return summary, [s for s in profile.samples if not native_frames.causes(s)]


def unnamed(samples):
    return [f.func for s in samples if any(map(native_frames.is_python, s.frames))
            for f in s.frames if native_frames.is_interpreter(f) and ADDRESS.search(f.func)]


def test_a_stripped_python_has_names(stripped):
    """Those that Python's own tables have; a function that is in none is shown as its caller."""
    summary, samples = stripped("--native")
    names = {name for s in samples for name in native_frames.natives(s)}
    assert NAMES <= names, (NAMES - names, len(samples))
    assert not unnamed(samples)
    assert summary["native"]["folded"] > 0


def test_full_shows_addresses(stripped):
    summary, samples = stripped("--native=full")
    assert unnamed(samples) and summary["native"]["folded"] == 0
