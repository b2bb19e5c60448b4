# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Signal handlers: Python code that starts anywhere in the main thread."""
import signal

import rehearse
from rehearse import Play


def handler(signum, frame):
    spin(400)
    sorted(range(20), key=handler_key)
    signal.setitimer(signal.ITIMER_REAL, 0.0003)    # again, but not before the work went on


def handler_key(i):
    return -i


def spin(n):
    for i in range(n):
        i & 3


def nested(n):
    if n:
        return nested(n - 1)
    return spin(300)


def counting(n):
    for i in range(n):
        spin(20)
        yield i


def before():
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0003)


def ignored(signum, frame):
    pass


def after():
    # a handler that is due sets the timer again; and a signal that is due calls what is there
    signal.signal(signal.SIGALRM, ignored)
    signal.setitimer(signal.ITIMER_REAL, 0)


def act():
    if rehearse.recording:
        handler(0, None)    # in case no signal comes in time
    nested(20)
    sorted(range(50), key=handler_key)
    for _ in counting(30):
        spin(30)


run = Play(act, ["spin", "handler_key"], guests=[handler], before=before, after=after).run
