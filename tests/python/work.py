# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Work that has a name in profiles, for tests and for the scripts that they start."""
import time


def burn(cpu_s):
    """Uses CPU time of this thread: how long that takes on a busy machine does not matter."""
    end = time.thread_time() + cpu_s
    while time.thread_time() < end:
        sum(x * x for x in range(500))


def busy_work(cpu_s=0.2):
    burn(cpu_s)


def other_work(cpu_s=0.2):
    burn(cpu_s)
