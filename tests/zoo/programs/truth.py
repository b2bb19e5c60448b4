# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a process of the zoo measures of itself: CPU time by function, by its threads' own clocks.

A file for each process, in $ZOO_TRUTH, written anew after each 10 ms: from and to (CLOCK_MONOTONIC,
seconds: the first start and the last end of a counted function), cpu and turns (seconds of the whole
process between these, and how often its threads left a CPU), functions (seconds of each) and files
(where each is). It needs no end of the process: some are killed.
"""
import _thread
import functools
import json
import os
import resource
import time

EVERY_S = 0.01
lock = _thread.allocate_lock()          # not the one that gevent puts in its place
state = {}


def forget():
    """A process that has just been forked has done nothing yet."""
    global lock
    lock = _thread.allocate_lock()
    state.clear()


def turns():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_nvcsw + used.ru_nivcsw


def begin():
    with lock:
        if not state:
            state.update({"pid": os.getpid(), "from": time.monotonic(), "written": 0,
                          "cpu_before": time.process_time(), "turns_before": turns(),
                          "functions": {}, "files": {}})


def end(function, seconds):
    name = function.__name__
    with lock:
        functions = state["functions"]
        functions[name] = functions.get(name, 0) + seconds
        state["files"][name] = function.__code__.co_filename
        now = time.monotonic()
        if now - state["written"] >= EVERY_S:
            state["written"] = now
            write(dict(state, to=now, cpu=time.process_time() - state["cpu_before"],
                       turns=turns() - state["turns_before"]))


def write(truth):
    path = os.path.join(os.environ["ZOO_TRUTH"], "%d.json" % truth["pid"])
    with open(path + ".new", "w") as out:
        json.dump(truth, out)
    os.rename(path + ".new", path)


def counted(function):
    """A decorator: the CPU time of its calls. They must not call each other, nor switch away from a
    coroutine or a greenlet."""
    @functools.wraps(function)
    def counting(*args, **kwargs):
        begin()
        start = time.thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            end(function, time.thread_time() - start)
    return counting


os.register_at_fork(after_in_child=forget)
