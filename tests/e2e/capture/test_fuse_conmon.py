# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that say that they are a container's monitor, and name files that never answer."""
import contextlib
import json
import os
from pathlib import Path

import pytest

import cgroups
import fuse
from paths import TARGETS
from present import absent
from recording import Recording, succeeded, tachbpf
from target import Target

ATTACKERS = 5
ATTACKER = 54331        # not nobody, whose other files do not answer in other tests
NAME = "shop"


def switched_off(path, off):
    return Path(path).exists() and Path(path).read_text().strip() == off


@pytest.fixture(params=["overlay", "reads"])
def conmons(request, out):
    """{pid of a Python: its container's id}. Its parent is named conmon, and its cgroup as podman's.

    conmon's arguments say where podman's list of containers is, in its own mount namespace.
    """
    mount = cgroups.v2() or cgroups.v1()
    if not mount or not os.path.exists("/dev/fuse"):
        absent("no cgroups, or no /dev/fuse")
    if switched_off("/proc/sys/user/max_user_namespaces", "0") or \
            switched_off("/proc/sys/kernel/unprivileged_userns_clone", "0"):
        absent("no user namespaces for ordinary users")
    device, found = fuse.device(out), {}
    os.chmod(out, 0o755)
    with contextlib.ExitStack() as stack:
        tree = stack.enter_context(cgroups.Tree(mount))
        for i in range(ATTACKERS):
            cid, place = os.urandom(32).hex(), out / f"conmon{i}"
            monitor = stack.enter_context(fuse.Unanswering(
                device, place, request.param, name="containers.json", user=ATTACKER,
                program=["/usr/bin/python3", "-B", TARGETS / "conmon.py", "-c", cid, "-n", NAME,
                         "-b", place / "overlay/container/userdata"]))
            python, = monitor.children()
            (tree.make(f"libpod-{cid}.scope") / "cgroup.procs").write_text(str(python))
            found[python] = cid
        yield found


def descendants(pid):
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield int(child)
            yield from descendants(int(child))


def blocked(pid):
    """How many of a profiler's workers wait for a file, for good."""
    states = []
    for worker in descendants(pid):
        with contextlib.suppress(FileNotFoundError):    # it may have ended
            states.append(Path(f"/proc/{worker}/stat").read_text().rsplit(")", 1)[1].split()[0])
    return states.count("D")


def check(rows, others, conmons):
    """A container has the name that the arguments say, or none. rows: of a summary, of ps."""
    # what a user's blocked workers keep from being inspected, which may be all of them, is missing
    its = {row["pid"]: row["container"] for row in rows if row["pid"] in conmons}
    for pid, container in its.items():
        assert container["id"] == conmons[pid] and container["name"] in (NAME, None)
    assert set(conmons) - set(its) <= {row["pid"] for row in others}


def test_a_list_of_containers_that_does_not_answer(conmons, out, scratch, python):
    """Recordings end by their duration and by Ctrl-C; a Python that starts meanwhile is profiled."""
    done = succeeded(tachbpf("-a", "-d", 1, "-o", out / "timed", "--json"))
    check(done.summary["processes"], done.summary["refused"], conmons)
    summary = fuse.recording_meanwhile(out, scratch, python)
    check(summary["processes"], summary["refused"], conmons)


# a read of a page ends by SIGKILL, and with it the worker
@pytest.mark.parametrize("conmons", ["overlay"], indirect=True)
def test_a_list_that_does_not_answer_blocks_workers_only(conmons, out):
    """Also with a condition, for which user space wants the container's name itself."""
    for i, condition in enumerate((["--uid", ATTACKER], ["--container", NAME])):
        with Recording(["-a", *condition, "-o", out / f"chosen{i}", "--json"]) as recording:
            recording.wait_recording()
            assert blocked(recording.process.pid) > 0
            assert recording.stop().returncode in (0, 3)    # 3: no container has that name


def test_ps_ends_when_a_list_does_not_answer(conmons, scratch, python):
    with Target(python, scratch, "shares=600") as target:
        listed = json.loads(succeeded(tachbpf("ps", "--json")).stdout)
    assert target.pid in {p["pid"] for p in listed["pythons"]}
    check(listed["pythons"], [{"pid": pid} for pid in conmons], conmons)
    assert listed["unreadable"] >= len(set(conmons) - {p["pid"] for p in listed["pythons"]})
