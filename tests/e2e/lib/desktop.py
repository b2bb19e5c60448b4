# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A desktop for --open and `tachbpf open`: an xdg-open of ours, which notes how it was run."""
import shutil
import subprocess

import pytest

from present import absent

NOBODY = 65534
# The variables that sudo sets for a user who sits at a display.
ENV = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "DISPLAY": ":7", "WAYLAND_DISPLAY": ""}

OPENER = """#!/bin/sh
umask 0
{ id -u; id -g; id -G; pwd; echo "$1"; head -c 15 "$1"; echo; grep ^Cap /proc/self/status; \
  readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2; ls /proc/self/fd | wc -w; } > %(out)s/part
env > %(out)s/env
mv %(out)s/part %(out)s/opened
"""


@pytest.fixture
def desktop(out):
    """A prefix for the profiler: in its mount namespace, xdg-open is a script of ours."""
    program = shutil.which("xdg-open", path="/usr/local/bin:/usr/bin:/bin")
    if not program:
        absent("no xdg-open: install Debian's package xdg-utils")
    script = out / "xdg-open"
    script.write_text(OPENER % {"out": out})
    script.chmod(0o755)
    out.chmod(0o777)
    return ["unshare", "-m", "sh", "-c", f"mount --bind {script} {program} && exec \"$@\"", "sh"]


def opened(out):
    """The lines that xdg-open noted. It was started before the profiler ended, and writes them later."""
    subprocess.run(["timeout", "30", "sh", "-c", f"until [ -e {out}/opened ]; do :; done"], check=True)
    return (out / "opened").read_text().split("\n")[:-1]
