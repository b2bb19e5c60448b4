# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""sys.setprofile, sys.settrace and sys.monitoring at work: their callbacks are in the stack."""
import sys

import rehearse
from rehearse import Play


def spin(n):
    for i in range(n):
        i & 3


def on_profile(frame, event, arg):
    spin(30)


def on_trace(frame, event, arg):
    spin(20)
    return on_line


def on_line(frame, event, arg):
    spin(10)
    return on_line


def on_event(code, *args):
    spin(20)


def traced(n):
    if n:
        return traced(n - 1)
    return sorted(range(20), key=negated)


def negated(i):
    return -i


def counting(n):
    for i in range(n):
        yield i


def hook(function, *args):
    """Not in a rehearsal: hooks hide from the profile function, or replace it."""
    if not rehearse.recording:
        function(*args)


def profiled_turn():
    hook(sys.setprofile, on_profile)
    traced(10)
    sum(counting(20))
    hook(sys.setprofile, None)


def traced_turn():
    hook(sys.settrace, on_trace)
    traced(10)
    sum(counting(20))
    hook(sys.settrace, None)


def monitored_turn():
    monitoring = sys.monitoring
    events = monitoring.events
    monitoring.use_tool_id(3, "test")
    wanted = (events.PY_START, events.PY_RETURN, events.LINE, events.CALL, events.PY_YIELD)
    for event in wanted:
        monitoring.register_callback(3, event, on_event)
    hook(monitoring.set_events, 3, sum(wanted))
    traced(10)
    sum(counting(20))
    hook(monitoring.set_events, 3, 0)
    for event in wanted:
        monitoring.register_callback(3, event, None)
    monitoring.free_tool_id(3)


def act():
    if rehearse.recording:
        on_profile(None, "", None)
        on_trace(None, "", None)
        on_line(None, "", None)
        on_event(None)
    profiled_turn()
    traced_turn()
    if hasattr(sys, "monitoring"):
        monitored_turn()


run = Play(act, ["spin", "traced", "negated"],
           guests=[on_profile, on_trace, on_line, on_event]).run
