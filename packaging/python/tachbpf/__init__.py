# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tachbpf from Python: record a program, read profiles, see them where you work."""
from ._program import Error

__all__ = ["Error"]
