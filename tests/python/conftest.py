# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the tests of the package share: files of profiles, and the program that was installed with it."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.dont_write_bytecode = True
GOLDEN = Path(__file__).resolve().parent.parent / "golden"


@pytest.fixture(scope="session")
def golden():
    """The directory of the profiles that all tests of formats share."""
    return GOLDEN


@pytest.fixture(scope="session")
def program():
    """The program of the wheel."""
    from tachbpf._program import find
    return find()


@pytest.fixture(scope="session")
def cli(program):
    """Runs the program and returns its JSON."""
    def run(*arguments):
        done = subprocess.run([program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)
    return run
