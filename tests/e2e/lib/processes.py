# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes of the machine: to end them, and the CPU time that they had."""
import contextlib
import os
import select
import signal
import subprocess
import time
from pathlib import Path

TIMEOUT = 600           # a safety net for what hangs, never a verdict: a busy machine takes long


def online_cpus():
    return len(os.sched_getaffinity(1))


def kill(process):
    """End a process and whatever it started; all of ours lead a session of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(TIMEOUT)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


@contextlib.contextmanager
def ready(argv):
    """A program that has said that it is ready; it is ended afterwards."""
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        kill(process)


def family(pid):
    """The process and all below it, those included that cannot end."""
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def children_by_name(pid):
    """comm -> pid, of what the process' first thread has started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {Path(f"/proc/{child}/comm").read_text().strip(): int(child) for child in children}


def kill_and_wait(pid):
    """kill -9, until the process has ended; its parent may not have waited for it yet."""
    fd = os.pidfd_open(pid)
    try:
        os.kill(pid, signal.SIGKILL)
        assert select.select([fd], [], [], TIMEOUT)[0], f"{pid} does not end"
    finally:
        os.close(fd)


def stat_of(pid):
    """/proc/PID/stat; empty if the process has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text()
    return ""


def cpu_s(pid):
    """CPU seconds a process has had, from the kernel's own exact count."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def family_cpu_s(pid):
    """CPU seconds of a process and all below it, but for those that end meanwhile."""
    total = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            total += cpu_s(one)
    return total


def arrivals(pid):
    """How often the scheduler gave a process' first thread a CPU."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[2])


def use_cpu(pid, seconds, patience=TIMEOUT):
    """Wait until a process has had so much more CPU time, by the scheduler's count: how long
    that takes on a busy machine is no verdict, and patience is only for one that hangs."""
    enough, end = cpu_s(pid) + seconds, time.monotonic() + patience
    while cpu_s(pid) < enough:
        assert time.monotonic() < end, f"process {pid} gets no CPU"
        time.sleep(0.01)


def wait_until(condition, what):
    """Wait for an event. what: it, in words, for the message if it does not come."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, f"not in time: {what}"
        time.sleep(0.01)
