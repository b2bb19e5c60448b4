# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The commands on files, run as a user runs them: what they print, and how they refuse.

For commands that record there is recording.py.
"""
import errno
import fcntl
import os
import pty
import struct
import subprocess
import termios

from paths import binary
from processes import TIMEOUT


def run(*argv, **more):
    return subprocess.run([binary(), *map(str, argv)], capture_output=True, timeout=TIMEOUT,
                          encoding="utf-8", errors="surrogateescape", **more)


def good(*argv, **more):
    """What a command prints that succeeds and complains of nothing."""
    done = run(*argv, **more)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


def refused(done, *words, status=1):
    """Failed with this status and one line of stderr that has these words."""
    lines = done.stderr.splitlines()
    assert done.returncode == status, done
    assert len(lines) == 1 and lines[0].startswith("tachbpf: error: "), done
    for word in words:
        assert word in lines[0], (word, lines[0])
    return lines[0]


def on_full_disk(*argv):
    """A command whose output goes to a device that has no room."""
    with open("/dev/full", "w") as full:
        return subprocess.run([binary(), *map(str, argv)], stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=TIMEOUT)


def raw_terminal(columns, *argv, env=(), rows=24, keys=b""):
    """The bytes that a terminal of this size gets; argv begins with the program.

    env: what differs from ours; None: unset. keys: what the user has typed.
    """
    ours = {**os.environ, "TERM": "xterm", "NO_COLOR": None, "PAGER": None, "TACHBPF_PAGER": None,
            **dict(env)}
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.write(master, keys)
    with subprocess.Popen([*map(str, argv)], stdin=slave, stdout=slave, stderr=slave,
                          start_new_session=True, preexec_fn=lambda: fcntl.ioctl(
                              0, termios.TIOCSCTTY, 0),
                          env={k: v for k, v in ours.items() if v is not None}) as process:
        os.close(slave)
        shown = b""
        try:
            while chunk := os.read(master, 65536):
                shown += chunk
        except OSError as error:
            assert error.errno == errno.EIO
        os.close(master)
    assert process.returncode == 0, shown
    return shown


def on_terminal(columns, *argv):
    """The lines that a terminal of so many columns shows, without colours and without a pager."""
    shown = raw_terminal(columns, binary(), *argv, env={"NO_COLOR": "1", "TACHBPF_PAGER": ""})
    return shown.decode().splitlines()
