# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packages that are built on this machine, not in another system's root."""
import os
import subprocess

from paths import REPO, binary

BUILD = binary().parent
EPOCH = "1700000000"    # the same for all packages, whenever a commit was made meanwhile


def make(*argv, tree=REPO, **env):
    """make, as a user calls it; stderr is in its .stdout, too."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", "--no-print-directory", f"-j{len(os.sched_getaffinity(0))}",
                           f"O={os.path.relpath(BUILD, REPO)}", *argv], cwd=tree, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**clean, "SOURCE_DATE_EPOCH": EPOCH, **env})
