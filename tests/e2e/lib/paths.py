# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where things are: the repository, the tests, the binary under test."""
import os
from pathlib import Path

LIB = Path(__file__).resolve().parent
E2E = LIB.parent
TESTS = E2E.parent
REPO = TESTS.parent
TARGETS = E2E / "targets"


def binary():
    return Path(os.environ.get("TACHBPF", REPO / "build" / "tachbpf")).resolve()
