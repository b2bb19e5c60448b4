# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""speedscope itself: npm's package of one version, and what its importer makes of a file."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from paths import LIB
from processes import TIMEOUT

VERSION = "1.25.0"


def package():
    """The directory of speedscope's npm package, installed if it is not."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed: speedscope cannot be had")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tachbpf"
    found = cache / f"speedscope-{VERSION}" / "node_modules" / "speedscope"
    if not found.is_dir():
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
                               "--prefix", found.parent.parent, f"speedscope@{VERSION}"],
                              capture_output=True, text=True, timeout=TIMEOUT)
        if done.returncode:
            pytest.skip(f"npm cannot install speedscope: {done.stderr[-200:]}")
    return found


def imported(directory, path):
    """What the package's importer makes of a file."""
    done = subprocess.run(["node", LIB / "speedscope_import.js", directory, path],
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
