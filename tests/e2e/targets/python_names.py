# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads whose names only Python knows. Python 3.6 to 3.13: later ones tell the kernel.

"given" has a name from the program, and "both" tells the kernel another one; "late" starts when
others have been sampled for long. "numbered" has threading's own name, and "comm" such a name and
one that it tells the kernel. "renamed" has too many attributes for keys that objects share.
All live on for some seconds: their names are asked for four times more, once a second.
"""
import threading
import time

from truth import tid

LIVE_ON = 5             # seconds
NAMES = {"given": "given-\u00e9\x1b[31m<b>", "both": "a name of more than 15 bytes",
         "late": "late"}


class Renamed(threading.Thread):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.name = "renamed, in a class"
        for i in range(40):
            setattr(self, "attribute_%d" % i, i)


def burn(seconds):
    """Of this thread's CPU time."""
    clock = time.CLOCK_THREAD_CPUTIME_ID
    end = time.clock_gettime(clock) + seconds
    while time.clock_gettime(clock) < end:
        sum(range(500))


def work(role, seconds, tids, end):
    tids[role] = tid()
    if role in ("both", "comm"):
        with open("/proc/self/task/%d/comm" % tid(), "w") as f:
            f.write("kernel's")
    burn(seconds)
    end.wait()


def start(role, *args):
    kind = Renamed if role == "renamed" else threading.Thread
    thread = kind(target=work, args=(role,) + args, name=NAMES.get(role))
    thread.start()
    return thread


def run(seconds):
    tids, each, end = {}, seconds / 8, threading.Event()
    threads = [start(role, each, tids, end)
               for role in ("given", "both", "numbered", "comm", "renamed")]
    burn(each)
    threads.append(start("late", each, tids, end))
    burn(each)
    time.sleep(LIVE_ON)
    end.set()
    for thread in threads:
        thread.join()
    return {"tids": tids}
