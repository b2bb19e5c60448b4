# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""go tool pprof, for the tests of what it reads."""
import fcntl
import os
import shutil
import subprocess

import pytest

from interp.cache import path_of
from processes import TIMEOUT


def go_pprof(*argv):
    """go tool pprof. Go builds it at its first use, which takes a minute of CPU time."""
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.access(go, os.X_OK):
        pytest.skip("no Go toolchain: go tool pprof cannot run")
    home = path_of("go")
    os.makedirs(home, exist_ok=True)
    env = {**os.environ, "PPROF_TMPDIR": home, "HOME": home, "GOCACHE": home + "/cache",
           "GOFLAGS": "-mod=mod"}
    with open(home + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)        # one worker builds it, not each
        done = subprocess.run([go, "tool", "pprof", *map(str, argv)], capture_output=True,
                              text=True, timeout=TIMEOUT, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout
