# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""speedscope itself: npm's package of one version, and what its importer makes of a file."""
import json
import subprocess

import npm
from paths import LIB
from processes import TIMEOUT

VERSION = "1.25.0"


def package():
    """The directory of speedscope's npm package, installed if it is not."""
    return npm.package("speedscope", VERSION)


def imported(directory, path):
    """What the package's importer makes of a file."""
    done = subprocess.run(["node", LIB / "speedscope_import.js", directory, path],
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
