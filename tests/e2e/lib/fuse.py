# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that have mapped a file which never answers (targets/fuse_server.py)."""
import contextlib
import os
import pwd
import select
import signal
import stat
import subprocess
from pathlib import Path

from paths import TARGETS
from processes import TIMEOUT, use_cpu
from recording import Recording, succeeded
from target import Target

NOBODY = pwd.getpwnam("nobody").pw_uid


def device(directory):
    """/dev/fuse as many systems have it: for everybody."""
    path = directory / "fuse-device"
    os.mknod(path, stat.S_IFCHR | 0o666, os.stat("/dev/fuse").st_rdev)
    path.chmod(0o666)
    return path


class Unanswering:
    """A process that burns, and its server; use as a context manager. pid: the process."""

    def __init__(self, dev, directory, place, name="libpython3.11.so.1.0", user=None,
                 program=None):
        """dev: /dev/fuse. place: plain, overlay, reads. user: a uid; the server is then in a user namespace.
        program: map_and_burn.c, compiled, or another command, which is the process then; otherwise it
        is a Python."""
        self.user, self.place = user, place
        directory.mkdir()
        if user:
            os.chown(directory, user, user)
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-B", str(TARGETS / "fuse_server.py"), str(dev), str(directory), name, place,
             *map(str, program if isinstance(program, list) else [program] if program else [])],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            user=user, group=user)

    def __enter__(self):
        ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
        words = self.process.stdout.readline().split() if ready else []
        if words[:1] != ["ready"]:
            self.stop()
            raise AssertionError(f"no FUSE file system: {self.process.stderr.read()}")
        self.pid = int(words[1])
        return self

    def children(self):
        """Of the process."""
        return list(map(int, Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()))

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def __exit__(self, *_):
        self.stop()


def recording_meanwhile(out, scratch, python):
    """The summary of a recording that Ctrl-C ends; a Python that starts during it is profiled."""
    with Recording(["-a", "-o", out / "interrupted", "--json"]) as recording:
        recording.wait_recording()
        with Target(python, scratch, "shares=600") as target:
            target.go()
            use_cpu(target.pid, 0.5)
        summary = succeeded(recording.stop()).summary
    row, = [p for p in summary["processes"] if p["pid"] == target.pid]
    assert row["samples"] > 0
    return summary
