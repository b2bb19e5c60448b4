# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the embedded interpreters run: some CPU time in a stack that is known."""
import os
import time

SECONDS = float(os.environ.get("BURN_S", "0.6"))


def embedded_leaf(end):
    try:
        raise ValueError    # leaves None where an exception was, up to 3.12
    except ValueError:
        pass
    while time.thread_time() < end:
        sum(range(100))


def embedded_caller():
    embedded_leaf(time.thread_time() + SECONDS)


embedded_caller()
