# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files that a target has mapped and whose server never answers: nobody waits for them."""
import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import fuse
from present import absent
from recording import Recording, succeeded, tachbpf
from selecting import recorded
from target import Target

ATTACKERS = 10
INSPECTOR, PARSER = "tachbpf-inspect", "tachbpf-parser"


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


def workers(recording, comm):
    """The pids of a recording's workers with this name, those that were killed and cannot end included."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            pid, rest = path.read_text().split(" (", 1)
            its, rest = rest.rsplit(") ", 1)
            state, _, _, session = rest.split()[:4]
            if its == comm and int(session) == recording.process.pid and state != "Z":
                yield int(pid)


def test_a_recording_goes_on_and_ends(attackers, out, scratch, python):
    """By its duration, and by Ctrl-C; a Python that starts meanwhile is profiled."""
    bad = {a.pid for a in attackers}
    done = succeeded(tachbpf("-a", "-d", 1, "-o", out / "timed", "--json"))
    assert not bad & {p["pid"] for p in done.summary["processes"]}
    assert done.summary["files_stuck"] > 0
    assert bad & {p["pid"] for p in done.summary["refused"]}
    fuse.recording_meanwhile(out, scratch, python)


def test_a_start_that_waits_for_all_processes(attackers, out, scratch, python):
    """In wall mode their files are read ahead, too: who blocks that is blamed, and the others are profiled."""
    with Target(python, scratch, "shares=600") as target:
        done = succeeded(tachbpf("-a", "-m", "wall", "-d", 1, "-o", out / "wall", "--json"))
    assert recorded(done.summary)[target.pid]
    assert done.summary["files_stuck"] > 0
    assert {a.pid for a in attackers} & {p["pid"] for p in done.summary["refused"]}


@pytest.mark.parametrize("mode", ["cpu", "wall"])
def test_a_user_blocks_two_workers_at_most(attackers, out, mode):
    user = attackers[0].user
    if user is None:
        pytest.skip("root may block more")
    with Recording(["-a", "-m", mode, "--uid", user, "-o", out / "user", "--json"]) as recording:
        recording.wait_recording()
        inspectors, parsers = (len(list(workers(recording, name))) for name in (INSPECTOR, PARSER))
        summary = succeeded(recording.stop()).summary
    # the one that works, and those that were given up
    assert inspectors <= 1 + 2 and parsers <= 1 + 2
    assert summary["files_stuck"] > 0


@pytest.mark.parametrize("attackers", [("reads", fuse.NOBODY)], ids=["reads"], indirect=True)
def test_blocked_parsers_count_after_the_end_of_their_inspector(attackers, out):
    """Each new inspector would lend the user two more parsers."""
    with Recording(["-a", "--uid", attackers[0].user, "-o", out / "user", "--json"]) as recording:
        recording.wait_recording()
        for _ in range(8):
            for pid in workers(recording, INSPECTOR):
                os.kill(pid, signal.SIGKILL)
            # another Python of the user, which is looked at
            subprocess.run(["/usr/bin/python3", "-c", "sum(range(10**7))"], user=attackers[0].user, check=True)
            assert len(list(workers(recording, PARSER))) <= 1 + 2
        succeeded(recording.stop())


def test_ps_ends_and_lists_the_others(attackers, out, scratch, python):
    with Target(python, scratch, "shares=600") as target:
        listed = json.loads(succeeded(tachbpf("ps", "--json")).stdout)["pythons"]
        assert target.pid in {p["pid"] for p in listed}


def test_a_process_that_is_asked_for_is_named(attackers, out):
    done = tachbpf("-p", attackers[0].pid, "-d", 1, "-o", out / "one.tach")
    assert done.returncode == 1
    assert str(attackers[0].pid) in done.stderr and "does not answer" in done.stderr
