# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prepares interpreters for the tests, in a cache; what it prepares is in roots.py and builds.py."""
