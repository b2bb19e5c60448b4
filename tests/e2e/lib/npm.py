# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packages of npm, of one version, kept in the user's cache."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from processes import TIMEOUT


def package(name, version):
    """The package's directory, installed if it is not."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip(f"node and npm are not installed: {name} cannot be had")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tachbpf"
    found = cache / f"{name}-{version}" / "node_modules" / name
    if not found.is_dir():
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
                               "--prefix", found.parent.parent, f"{name}@{version}"],
                              capture_output=True, text=True, timeout=TIMEOUT)
        if done.returncode:
            pytest.skip(f"npm cannot install {name}: {done.stderr[-200:]}")
    return found
