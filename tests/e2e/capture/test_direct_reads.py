# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Memory is read where the kernel has mapped all memory: what a process can do to its memory meanwhile.

That such samples are right is what all other tests show, and test_small_truth.py beside those that the kernel's
helper reads.
"""
import json
import re

import pytest

from direct_reads import can_read_directly
from present import absent, need
from profiles import without_gc
from recording import Recording, succeeded, tachbpf
from summary import tach_files

RATE = 4999

CHAIN = """
import sys, threading, time
def leaf(until):
    while time.process_time() < until:
        for i in range(500):
            i & 3
def chain(depth):
    scope = {"level_0": leaf}
    for i in range(1, depth):
        exec(compile("def level_%d(n):\\n return level_%d(n)\\n" % (i, i - 1), "chain.py", "exec"), scope)
    return scope["level_%d" % (depth - 1)]
"""

# Its objects are in pages of 2 MiB, as far as malloc can do that.
LARGE_PAGES = CHAIN + """
ballast = [bytearray(1000) for i in range(20000)]
chain(30)(time.process_time() + 2)
print(open("/proc/self/smaps_rollup").read(), file=open(sys.argv[1], "w"))
"""

# Another thread has memory moved while the first one runs: a fork makes each page one that is copied when it is
# written to, so objects get other pages all the time; and blocks are freed and made.
MOVING = CHAIN + """
import os
def move():
    while not over:
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
        ballast[:] = [bytearray(1000) for i in range(5000)]
ballast, over = [], False
mover = threading.Thread(target=move)
mover.start()
chain(30)(time.process_time() + 3)
over = True
mover.join()
"""


@pytest.fixture(params=["pyenv-3.8.18", "system-3.11", "sid-3.15"])
def python(request):
    return need(request.param)


@pytest.fixture(params=["pyenv-3.8.18", "system-3.11", "pyenv-3.13.0"])
def with_sysfs(request):
    """Interpreters whose C library can see /sys, which says whether large pages can be asked for."""
    return need(request.param)


def record(python, out, source, *argv, env=None):
    with Recording(["-r", RATE, "-o", out / "rec", "--", *python.command("-c", source, *argv)],
                   env=env) as recording:
        succeeded(recording.wait())
    rows = json.loads((out / "rec/session.json").read_text())["processes"]
    return max(rows, key=lambda row: row["samples"])


def check_chain(profile):
    """Stacks in leaf() are whole: 30 levels and <module>."""
    mine = [without_gc(s) for s in profile.samples if without_gc(s) and without_gc(s)[0].func == "leaf"]
    assert len(mine) >= RATE / 2
    want = ["leaf", *(f"level_{i}" for i in range(1, 30)), "<module>"]
    wrong = [s for s in mine if [f.func for f in s] != want]
    # the kernel may move a page at the very moment: those few are read by the helper, or say so
    assert len(wrong) <= len(mine) / 1000, (len(wrong), len(mine), wrong[0])


def test_doctor_says_whether_it_can(root):
    found = json.loads(succeeded(tachbpf("doctor", "--json")).stdout)
    assert found["programs"]["direct_reads"] == can_read_directly()
    assert "direct reads" in succeeded(tachbpf("doctor")).stdout


def test_objects_in_large_pages(with_sysfs, out, oracle):
    record(with_sysfs, out, LARGE_PAGES, out / "smaps",
           env={"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})
    large = int(re.search(r"AnonHugePages:\s+(\d+) kB", (out / "smaps").read_text())[1])
    if not large:
        absent("the kernel gives this process no large pages")
    profile, = oracle.load(*tach_files(out / "rec"))
    check_chain(profile)


def test_memory_that_is_copied_and_moved_meanwhile(python, out, oracle):
    row = record(python, out, MOVING)
    file, = (f for f in tach_files(out / "rec") if f.name.startswith(f"{row['pid']}-"))
    profile, = oracle.load(file)
    check_chain(profile)
