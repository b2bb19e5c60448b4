# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files that a target has mapped and whose server never answers: nobody waits for them."""
import contextlib
import json
import os
from pathlib import Path

import pytest

import fuse
from present import absent
from recording import Recording, succeeded, tachbpf
from processes import use_cpu
from target import Target

ATTACKERS = 10


# An ordinary user's FUSE itself refuses others, and root, at once; what is below an overlay is opened
# with its user's rights, whoever asks.
@pytest.fixture(params=[("plain", None), ("overlay", fuse.NOBODY), ("reads", fuse.NOBODY)],
                ids=["plain", "overlay", "reads"])
def attackers(request, out):
    """Ten of them: of root; of an ordinary user, who needs nothing but a user namespace."""
    place, user = request.param
    if not os.path.exists("/dev/fuse"):
        absent("no /dev/fuse")
    limit, switch = map(Path, ("/proc/sys/user/max_user_namespaces",
                               "/proc/sys/kernel/unprivileged_userns_clone"))
    if limit.read_text() == "0\n" or (switch.exists() and switch.read_text() == "0\n"):
        absent("no user namespaces for ordinary users")
    device = fuse.device(out)
    os.chmod(out, 0o755)
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(fuse.Unanswering(device, out / f"fuse{i}", place, user=user))
               for i in range(ATTACKERS)]


def children(pid):
    """(pid, comm) of each, those that were killed and cannot end included."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield int(child), Path(f"/proc/{child}/comm").read_text().strip()


def workers(recording):
    """(inspectors, parsers): how many processes of these names a recording has."""
    keeper, = [pid for pid, comm in children(recording.process.pid) if comm == "tachbpf-keeper"]
    inspectors = [pid for pid, comm in children(keeper) if comm == "tachbpf-inspect"]
    return len(inspectors), sum(1 for pid in inspectors for _, comm in children(pid))


def test_a_recording_goes_on_and_ends(attackers, out, scratch, python):
    """By its duration, and by Ctrl-C; a Python that starts meanwhile is profiled."""
    bad = {a.pid for a in attackers}
    done = succeeded(tachbpf("-a", "-d", 1, "-o", out / "timed", "--json"))
    assert not bad & {p["pid"] for p in done.summary["processes"]}
    assert done.summary["files_stuck"] > 0
    assert bad & {p["pid"] for p in done.summary["refused"]}
    with Recording(["-a", "-o", out / "interrupted", "--json"]) as recording:
        recording.wait_recording()
        with Target(python, scratch, "shares=600") as target:
            target.go()
            use_cpu(target.pid, 0.5)
        summary = succeeded(recording.stop()).summary
    row, = [p for p in summary["processes"] if p["pid"] == target.pid]
    assert row["samples"] > 0


def test_a_user_blocks_two_workers_at_most(attackers, out):
    user = attackers[0].user
    if user is None:
        pytest.skip("root may block more")
    with Recording(["-a", "--uid", user, "-o", out / "user", "--json"]) as recording:
        recording.wait_recording()
        inspectors, parsers = workers(recording)
        summary = succeeded(recording.stop()).summary
    # the one that works, and those that were given up
    if attackers[0].place == "reads":   # of a file that a parser waits for, the next open waits, too
        assert inspectors <= 1 + 2 and parsers <= inspectors + 2
    else:
        assert inspectors == 1 + 2
    assert summary["files_stuck"] > 0


def test_ps_ends_and_lists_the_others(attackers, out, scratch, python):
    with Target(python, scratch, "shares=600") as target:
        listed = json.loads(succeeded(tachbpf("ps", "--json")).stdout)["pythons"]
        assert target.pid in {p["pid"] for p in listed}


def test_a_process_that_is_asked_for_is_named(attackers, out):
    done = tachbpf("-p", attackers[0].pid, "-d", 1, "-o", out / "one.tach")
    assert done.returncode == 1
    assert str(attackers[0].pid) in done.stderr and "does not answer" in done.stderr
