# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Run by gdb, after it has attached to a process: stops it now and then, and notes its main thread's stack.

In gdb's variable $out: the file that gets the stops, as JSON; $stops: how many; 0: the stacks of all
threads now, each with its thread's id. A stop has the
functions, innermost first, each with its library and the address, and between which times
(CLOCK_MONOTONIC, ns) the process certainly stood still.
"""
import json
import random
import subprocess
import time

import gdb

# Inlined functions, and those that a tail call has replaced, which debug information tells gdb of.
NONE_ON_THE_STACK = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)
PAUSE_S = 0.02          # so long it stands still at least, so that a sample falls into it
SETTINGS = ("pagination off", "debuginfod enabled off", "print demangle off",
            "print asm-demangle off", "backtrace past-main on", "backtrace past-entry on",
            "backtrace limit 400")


def frames():
    frame = gdb.newest_frame()
    while frame:
        if frame.type() not in NONE_ON_THE_STACK:
            name = "__restore_rt" if frame.type() == gdb.SIGTRAMP_FRAME else frame.name()
            library = gdb.solib_name(frame.pc())
            yield [name, library or "", frame.pc()]
        frame = frame.older()


def select_main(pid):
    """The signal is the process', and any thread may have been the one that took it."""
    next(t for t in gdb.selected_inferior().threads() if t.ptid[1] == pid).switch()


def stop(pid, choose):
    """The process goes on, and a signal that it never gets stops it."""
    subprocess.Popen(["sh", "-c", 'sleep "$0"; kill -USR2 "$1"',
                      "%.4f" % choose.uniform(0.004, 0.03), str(pid)])
    gdb.execute("continue", to_string=True)
    start = time.monotonic_ns()
    select_main(pid)
    found = list(frames())
    time.sleep(PAUSE_S)
    return {"start_ns": start, "end_ns": time.monotonic_ns(), "frames": found}


def threads():
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        yield {"tid": thread.ptid[1], "frames": list(frames())}


def main():
    for setting in SETTINGS:
        gdb.execute("set " + setting)
    gdb.execute("handle SIGUSR2 stop print nopass", to_string=True)
    choose, pid = random.Random(19), gdb.selected_inferior().pid
    number = int(gdb.parse_and_eval("$stops"))
    stops = [stop(pid, choose) for _ in range(number)] or list(threads())
    with open(gdb.parse_and_eval("$out").string(), "w") as out:
        json.dump(stops, out)


main()
