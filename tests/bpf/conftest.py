# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The BPF tier uses the end-to-end tier's harness: a real kernel, a real interpreter."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))

from e2e_fixtures import *  # noqa: E402,F401,F403

pytest_plugins = ("grouping", "evidence", "counting")
