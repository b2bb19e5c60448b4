# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the kernel side reads memory of processes through the kernel's direct map."""
import os
import platform
import re

FIRST_KERNEL = (6, 2)


def can_read_directly():
    release = tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups()))
    return platform.machine() == "x86_64" and release >= FIRST_KERNEL
