# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packages that are built on this machine, not in another system's root."""
import os
import subprocess

from paths import REPO, binary

BUILD = binary().parent


def make(*argv, tree=REPO, build=BUILD, **env):
    """make, as a user calls it; stderr is in its .stdout, too."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", "--no-print-directory", f"-j{len(os.sched_getaffinity(0))}",
                           f"O={build}", *argv], cwd=tree, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, env={**clean, **env})
