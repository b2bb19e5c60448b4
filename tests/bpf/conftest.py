# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The BPF tier uses tests/e2e/lib: a real kernel, real interpreters."""

pytest_plugins = ("grouping", "gate", "present", "cached_files", "shared_fixtures", "evidence", "counting")
