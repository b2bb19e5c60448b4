# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files that a target has mapped and whose server never answers: nobody waits for them."""
import contextlib
import json
import os
import stat
from pathlib import Path

import pytest

import fuse
from present import absent
from recording import Recording, succeeded, tachbpf
from processes import use_cpu
from target import Target

ATTACKERS = 10


def may_have_user_namespaces():
    limit = Path("/proc/sys/user/max_user_namespaces")
    switch = Path("/proc/sys/kernel/unprivileged_userns_clone")
    return limit.read_text() != "0\n" and (not switch.exists() or switch.read_text() == "1\n")


@pytest.fixture(params=["plain", "overlay"])
def attackers(request, out, monkeypatch):
    """Ten of them, of an ordinary user, as far as the machine lets such a user mount FUSE."""
    user = fuse.NOBODY
    if not os.path.exists("/dev/fuse"):
        absent("no /dev/fuse")
    if not may_have_user_namespaces() or not os.stat("/dev/fuse").st_mode & stat.S_IWOTH:
        user = None
    os.chmod(out, 0o755)
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(fuse.Unanswering(out / f"fuse{i}", request.param, user=user))
               for i in range(ATTACKERS)]


def test_a_recording_goes_on_and_ends(attackers, scratch, python):
    """By its duration, and by Ctrl-C; a Python that starts meanwhile is profiled."""
    bad = {a.pid for a in attackers}
    done = succeeded(tachbpf("-a", "-d", 1, "-o", scratch / "timed", "--json"))
    assert not bad & {p["pid"] for p in done.summary["processes"]}
    assert done.summary["files_stuck"] > 0
    assert bad & {p["pid"] for p in done.summary["refused"]}
    with Recording(["-a", "-o", scratch / "interrupted", "--json"]) as recording:
        recording.wait_recording()
        with Target(python, scratch, "shares=600") as target:
            target.go()
            use_cpu(target.pid, 0.5)
        summary = succeeded(recording.stop()).summary
    row, = [p for p in summary["processes"] if p["pid"] == target.pid]
    assert row["samples"] > 0


def test_ps_ends_and_lists_the_others(attackers, scratch, python):
    with Target(python, scratch, "shares=600") as target:
        listed = json.loads(succeeded(tachbpf("ps", "--json")).stdout)["pythons"]
        assert target.pid in {p["pid"] for p in listed}


def test_a_process_that_is_asked_for_is_named(attackers, scratch):
    done = tachbpf("-p", attackers[0].pid, "-d", 1, "-o", scratch / "one.tach")
    assert done.returncode == 1
    assert str(attackers[0].pid) in done.stderr and "does not answer" in done.stderr
