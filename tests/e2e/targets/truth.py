# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a target knows about itself, for the tests to compare a profile with.

Standard library only, CPython 3.6 and later. A target says "ready" on stdout,
waits for a line on stdin, works, writes its truth as JSON, says "done" and
waits for end of file on stdin.
"""
import functools
import json
import os
import signal
import sys
import threading
import time

from rehearse import positions as places, qualname

if not hasattr(time, "thread_time"):            # 3.6; not a function in Python, which has a frame
    time.thread_time = functools.partial(time.clock_gettime, time.CLOCK_THREAD_CPUTIME_ID)
if not hasattr(threading, "get_native_id"):     # 3.6, 3.7
    threading.get_native_id = lambda: int(os.path.basename(os.readlink("/proc/thread-self")))

clock = []          # [monotonic ns, process CPU ns], every few ms: CPU time of any window
stacks = {}         # "file:qualname" of a leaf -> [[file, qualname], ...], innermost first
phases = {}         # behaviour -> {"start_ns", "end_ns", what it returned}
_last_tick = 0


def now_ns():
    return int(time.monotonic() * 1e9)


def both_clocks():
    return [now_ns(), int(time.process_time() * 1e9)]


def tick():
    """Note how much CPU time the process has had by now."""
    global _last_tick
    now = time.monotonic()
    if now - _last_tick > 0.005:
        _last_tick = now
        clock.append(both_clocks())


def tid():
    return threading.get_native_id()


def leaf():
    """Called by a function that is about to burn CPU: note the stack it does that in."""
    frame = sys._getframe(1)
    code = frame.f_code
    key = "%s:%s" % (code.co_filename, qualname(code))
    if key in stacks:
        return
    chain = []
    while frame:
        code = frame.f_code
        chain.append([code.co_filename, qualname(code)])
        frame = frame.f_back
    stacks[key] = chain


def until(seconds):
    """Iterate until the process has burnt so much more CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        tick()
        yield


def spin(n):
    """About n * 50 ns of pure Python."""
    x = 0
    for i in range(n):
        x += i & 3
    return x


def positions(paths):
    """file:qualname -> the set of places of all code in the given source files.

    A frame that is before its first instruction is at its def line, without columns.
    """
    found = {}

    def walk(code):
        key = "%s:%s" % (code.co_filename, qualname(code))
        line = code.co_firstlineno
        found.setdefault(key, set()).update(places(code), [(line, line, -1, -1)])
        for const in code.co_consts:
            if isinstance(const, type(code)):
                walk(const)

    for path in paths:
        with open(path, "rb") as f:
            walk(compile(f.read(), path, "exec"))
    return {key: sorted(value) for key, value in found.items()}


class Stopped(Exception):
    """SIGTERM: enough."""


def on_term(signum, frame):
    raise Stopped


def run(path, plan):
    """The life of a target: handshake, each behaviour for its seconds of CPU, the truth."""
    print("ready", flush=True)
    if not sys.stdin.readline():
        sys.exit("the test went away")
    signal.signal(signal.SIGTERM, on_term)
    try:
        for module, seconds in plan:
            clock.append(both_clocks())
            start = now_ns()
            result = module.run(seconds) or {}
            phases[module.__name__] = dict(result, start_ns=start, end_ns=now_ns())
    except Stopped:
        pass
    clock.append(both_clocks())
    write(path, [module for module, _ in plan])
    print("done", flush=True)
    sys.stdin.readline()


def write(path, modules):
    files = {m.__file__ for m in modules} | {__file__, threading.__file__}
    for module in modules:
        files.update(getattr(module, "FILES", ()))
    with open(path + ".new", "w") as out:
        json.dump({"pid": os.getpid(), "tid": tid(), "version": list(sys.version_info[:3]),
                   "clock": clock, "stacks": stacks, "phases": phases,
                   "positions": positions(files)}, out)
    os.rename(path + ".new", path)
