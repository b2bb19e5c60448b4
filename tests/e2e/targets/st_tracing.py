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


def profiled_turn():
    sys.setprofile(on_profile)
    traced(10)
    sum(counting(20))
    sys.setprofile(None)


def traced_turn():
    sys.settrace(on_trace)
    traced(10)
    sum(counting(20))
    sys.settrace(None)


def monitored_turn():
    monitoring = sys.monitoring
    events = monitoring.events
    monitoring.use_tool_id(3, "test")
    wanted = (events.PY_START, events.PY_RETURN, events.LINE, events.CALL, events.PY_YIELD)
    for event in wanted:
        monitoring.register_callback(3, event, on_event)
    monitoring.set_events(3, sum(wanted))
    traced(10)
    sum(counting(20))
    monitoring.set_events(3, 0)
    for event in wanted:
        monitoring.register_callback(3, event, None)
    monitoring.free_tool_id(3)


def rehearsal():
    """Without the hooks, which a profile function would not see and would be replaced by."""
    on_profile(None, "", None)
    on_trace(None, "", None)
    on_line(None, "", None)
    on_event(None)
    traced(10)
    sum(counting(20))


def act():
    if rehearse.recording:
        rehearsal()
        # and where the hooked calls stand
        for turn in (profiled_turn, traced_turn) + monitored:
            rehearse.without(sys, ("setprofile", "settrace"), turn)
        return
    profiled_turn()
    traced_turn()
    for turn in monitored:
        turn()


monitored = (monitored_turn,) if hasattr(sys, "monitoring") else ()
run = Play(act, ["spin", "traced", "negated"],
           guests=[on_profile, on_trace, on_line, on_event]).run
