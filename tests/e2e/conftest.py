# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What pytest needs of lib/; tests/bpf has the same."""

pytest_plugins = ("grouping", "gate", "present", "cached_files", "shared_fixtures", "agent_fixtures", "evidence", "counting")
