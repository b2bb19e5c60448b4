# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Beside memray, which is started with the program and sees each allocation: both name the same function."""
import json
import subprocess

import pytest

from interp import cache
from memory_runs import PAGE, record
from present import BY_NAME, absent
from processes import TIMEOUT
from pypi import PyPI, path_of

PACKAGES = ("memray==1.20.0",)
# What was held when the program ended, by the function that asked for it.
READ = """
import collections, json, sys
import memray
held = collections.Counter()
with memray.FileReader(sys.argv[1]) as reader:
    for record in reader.get_leaked_allocation_records(merge_threads=True):
        stack = record.stack_trace(max_stacks=1)
        held[stack[0][0] if stack else ""] += record.size
print(json.dumps(held))
"""


@pytest.fixture
def python_with_memray():
    """(interpreter, directory of packages)"""
    interpreter = BY_NAME.get("system-3.11") or absent("system-3.11 is not installed")
    try:
        return interpreter, path_of(PyPI("memray", interpreter, PACKAGES))
    except (cache.Failed, OSError) as error:
        absent(f"memray cannot be had: {error}")


def seen_by_memray(interpreter, packages, scratch, out, *parts):
    """Bytes by function."""
    env = {"PYTHONPATH": str(packages), "PATH": "/usr/bin:/bin"}
    trace = out / "memray.bin"
    program = [scratch / "targets" / "memory" / "run.py", out / "truth.json", *parts]
    subprocess.run(interpreter.command("-m", "memray", "run", "-q", "-o", trace, *program),
                   input="go\n", text=True, check=True, timeout=TIMEOUT, env=env, stdout=subprocess.DEVNULL)
    done = subprocess.run(interpreter.command("-c", READ, trace), capture_output=True, text=True,
                          check=True, timeout=TIMEOUT, env=env)
    return json.loads(done.stdout)


@pytest.mark.parametrize("part, function", [("growth=32", "grower"), ("leak=32", "leaks_small")])
def test_both_name_the_same_function(python_with_memray, scratch, out, part, function):
    interpreter, packages = python_with_memray
    theirs = seen_by_memray(interpreter, packages, scratch, out, part)
    ours = record(interpreter, scratch, out / "ours", part, every=PAGE, env={"BOOK_PACE_MS": "24"})
    assert max(theirs, key=theirs.get) == ours.rows.top("held") == function
    assert not ours.off("held", {function: ours.truth["functions"][function]})
    book = ours.truth["functions"][function]["held"]
    assert abs(theirs[function] - book) <= 0.05 * book
