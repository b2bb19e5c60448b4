# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prepares interpreters for the tests, in a cache: roots.py and builds.py list them."""
