# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the embedded interpreters run: some CPU time in a stack that is known."""
import os
import time

clock = getattr(time, "thread_time", time.process_time)     # not in 3.6
SECONDS = float(os.environ.get("BURN_S", "0.6"))


def embedded_leaf(end):
    try:
        raise ValueError    # leaves None where an exception was, up to 3.12
    except ValueError:
        pass
    while clock() < end:
        sum(range(100))


def embedded_caller():
    embedded_leaf(clock() + SECONDS)


embedded_caller()
