# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The BPF tier uses the end-to-end tier's lib/: a real kernel, a real interpreter."""

pytest_plugins = ("grouping", "present", "shared_fixtures", "evidence", "counting")
