# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest finds the fixtures here; they are shared with tests/bpf."""
from e2e_fixtures import *  # noqa: F401,F403

pytest_plugins = ("grouping", "evidence", "counting")
