# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What was run: argv, the files it writes, how it ended. evidence.py keeps it when a test fails."""
import time

ran = []


def note(argv, **more):
    entry = dict(argv=[str(arg) for arg in argv], began=time.monotonic(), **more)
    ran.append(entry)
    return entry
