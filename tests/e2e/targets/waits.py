# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that wait for all there is to wait for, and measure it: the parts below, one after another.

Every thread notes when it began and ended, what CPU time it had and how long it could have
run and did not; what is left it was blocked. Where a wait can be timed by itself it is:
wait_ns for locks and reads, gil_wait_ns for the GIL. Lines that the test asks for by name
end in "# at NAME".
"""
import ctypes_or_none
import os
import select
import threading
import time

from truth import leaf, now_ns, tid

hold = ctypes_or_none.hold
seconds = 1.0     # by the clock, each part


class Measured:
    """A thread's own clocks, from its first line to its last."""

    def __init__(self):
        self.wait_ns = self.gil_wait_ns = self.held_ns = self.cnt = 0

    def scheduler(self):
        """(could run and did not, times on a CPU)"""
        with open("/proc/self/task/%d/schedstat" % self.tid) as f:
            return tuple(map(int, f.read().split()[1:]))

    def clocks(self):
        """All of one moment: it stays on its CPU between the first and the last."""
        scheduler = None
        while scheduler != self.scheduler():
            scheduler = self.scheduler()
            now, cpu = now_ns(), int(time.thread_time() * 1e9)
        return (now, cpu) + scheduler

    def __enter__(self):
        self.tid = tid()
        self.start = self.clocks()
        self.deadline = time.monotonic() + seconds
        return self

    def __exit__(self, *_):
        self.end = self.clocks()

    def going(self):
        return time.monotonic() < self.deadline

    def truth(self):
        wall, cpu, delay, switches = (b - a for a, b in zip(self.start, self.end))
        return {"tid": self.tid, "start_ns": self.start[0], "end_ns": self.end[0], "wall_ns": wall,
                "cpu_ns": cpu, "delay_ns": delay, "blocked_ns": wall - cpu - delay,
                "wait_ns": self.wait_ns, "gil_wait_ns": self.gil_wait_ns,
                "held_ns": self.held_ns, "cnt": self.cnt, "switches": switches}


def burn(cpu_seconds):
    end = time.thread_time() + cpu_seconds
    while time.thread_time() < end:
        for i in range(200):
            i & 3


# ---- asleep and awake ----

def sleeper(m):
    while m.going():
        time.sleep(0.07)  # at sleep
        burn(0.03)


# ---- two threads that do nothing but compute ----

def fighter_a(m):
    leaf()
    while m.going():
        for i in range(2000):
            i & 3


def fighter_b(m):
    leaf()
    while m.going():
        for i in range(2000):
            i & 3


# ---- C that keeps the GIL for 50 ms and gives it back for 50 ms ----

def holder_busy(m):
    while m.going():
        before = now_ns()
        m.held_ns += hold.with_gil.compute(50000000) - before  # at hold-busy
        hold.without_gil.nap(50000000)


def holder_asleep(m):
    while m.going():
        before = now_ns()
        m.held_ns += hold.with_gil.nap(50000000) - before  # at hold-asleep
        hold.without_gil.compute(50000000)


# It may have to give it up again, and wait again, before it has looked at the clock.
def wanting(m):
    while m.going():
        over = hold.without_gil.nap(1000000)  # at want
        m.gil_wait_ns += hold.with_gil.now() - over  # at want
        m.cnt += 1


# ---- the GIL's own convoy: whoever gives it up for a moment waits behind the one who does not ----

def hog(m):
    while m.going():
        for i in range(2000):  # at hog
            i & 3  # at hog


def victim(m):
    while m.going():
        over = hold.without_gil.nap(1000000)  # at victim
        m.gil_wait_ns += hold.with_gil.now() - over  # at victim
        m.cnt += 1


# ---- a lock's convoy: one has it and sleeps, the others queue ----

lock = threading.Lock()


def queuing(m):
    while m.going():
        before = now_ns()
        lock.acquire()  # at acquire
        m.wait_ns += now_ns() - before
        time.sleep(0.004)  # at owner
        lock.release()
        m.cnt += 1


# ---- blocked in one call for 20 ms at a time ----

def reading(m):
    while m.going():
        before = now_ns()
        os.read(pipe[0], 1)  # at read
        m.wait_ns += now_ns() - before
        m.cnt += 1


def feeding(m):
    while m.going():
        time.sleep(0.02)
        os.write(pipe[1], b"x")
    os.write(pipe[1], b"end")


def polling(m):
    poll = select.poll()
    poll.register(silent[0], select.POLLIN)
    while m.going():
        before = now_ns()
        poll.poll(20)  # at poll
        m.wait_ns += now_ns() - before
        m.cnt += 1


def selecting(m):
    while m.going():
        before = now_ns()
        select.select([silent[0]], [], [], 0.02)  # at select
        m.wait_ns += now_ns() - before
        m.cnt += 1


def syncing(m):
    path = os.path.join(os.environ["TARGET_SCRATCH"], "disk-%d" % tid())
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while m.going():
            os.pwrite(fd, os.urandom(65536), 0)
            before = now_ns()
            os.fsync(fd)  # at fsync
            m.wait_ns += now_ns() - before
            m.cnt += 1
    finally:
        os.close(fd)
        os.unlink(path)


PARTS = (("sleep", (sleeper,)),
         ("fight", (fighter_a, fighter_b)),
         ("hold-busy", (holder_busy, wanting)),
         ("hold-asleep", (holder_asleep, wanting)),
         ("convoy", (hog, victim, victim, victim)),
         ("queue", (queuing, queuing, queuing, queuing)),
         ("blocked", (reading, feeding, polling, selecting, syncing)))
NEED_HOLD = ("hold-busy", "hold-asleep", "convoy")


def measured(function, results):
    with Measured() as m:
        function(m)
    results.append(dict(m.truth(), name=function.__name__))


def run_part(functions):
    results = []
    threads = [threading.Thread(target=measured, args=(f, results)) for f in functions]
    start = now_ns()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return {"start_ns": start, "end_ns": now_ns(), "threads": results}


def run(each):
    global seconds, pipe, silent
    seconds, pipe, silent = each, os.pipe(), os.pipe()
    with open(__file__) as f:
        marks = {}
        for number, line in enumerate(f, 1):
            name = line.rpartition("# at ")[2].strip() if "# at " in line else ""
            if name.replace("-", "").isalpha():
                marks.setdefault(name, []).append(number)
    parts = {name: run_part(functions) for name, functions in PARTS
             if hold or name not in NEED_HOLD}
    return {"parts": parts, "marks": marks, "file": __file__}
