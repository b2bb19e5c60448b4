# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The profiler as a process: started, awaited, stopped, and what it said.

Nothing here sleeps to synchronise: the profiler is recording when it holds one open perf
event per CPU. What is started here is killed at the end of its `with` block at the latest.
"""
import contextlib
import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path

from notes import note
from paths import binary
from processes import TIMEOUT, kill, online_cpus


class Finished:
    """What the profiler said and how it ended."""

    def __init__(self, argv, returncode, stdout, stderr):
        self.argv, self.returncode, self.stdout, self.stderr = argv, returncode, stdout, stderr

    @property
    def summary(self):
        return json.loads(self.stdout)

    def __repr__(self):
        return (f"{' '.join(map(str, self.argv))}\n -> exit {self.returncode}\n"
                f"stdout: {self.stdout[-2000:]}\nstderr: {self.stderr[-4000:]}")


class Recording:
    """A tachbpf that runs; use as a context manager."""

    def __init__(self, argv, prefix=(), env=None, cwd=None):
        self.argv = [*prefix, str(binary()), *map(str, argv)]
        self.process = subprocess.Popen(
            self.argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
            stdin=subprocess.DEVNULL,
            start_new_session=True, env=dict(os.environ, **(env or {})))
        self.noted = note(self.argv, pid=self.process.pid, cwd=str(cwd or os.getcwd()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        kill(self.process)
        self.noted.setdefault("exit", self.process.returncode)

    def perf_event_fds(self):
        """The profiler's descriptors of perf events."""
        found = []
        with contextlib.suppress(FileNotFoundError):
            for fd in Path(f"/proc/{self.process.pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if "perf_event" in os.readlink(fd):
                        found.append(int(fd.name))
        return found

    def perf_events(self):
        """How many perf events the profiler holds open."""
        return len(self.perf_event_fds())

    def ticks(self):
        """Has the profiler armed the timer that changes the clocks? It does so once all tick."""
        with contextlib.suppress(FileNotFoundError):
            for fd in Path(f"/proc/{self.process.pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if "timerfd" in os.readlink(fd):
                        info = Path(f"/proc/{self.process.pid}/fdinfo/{fd.name}").read_text()
                        return not ("ticks: 0\n" in info and "it_value: (0, 0)" in info)
        return False

    def wait_recording(self, cpus=None, timeout=TIMEOUT):
        """Until one perf event per CPU ticks; a condition is polled, nothing is guessed."""
        cpus = cpus or online_cpus()
        end = time.monotonic() + timeout
        while self.perf_events() < cpus or not self.ticks():
            if self.process.poll() is not None:
                raise AssertionError(f"the profiler ended early: {self.wait()!r}")
            assert time.monotonic() < end, "the profiler does not start recording"
            select.select([], [], [], 0.005)
        return self

    def stop(self, signum=signal.SIGINT):
        self.process.send_signal(signum)
        return self.wait()

    def wait(self, timeout=TIMEOUT):
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            kill(self.process)
            raise AssertionError(f"{self.argv} did not end within {timeout} s") from None
        self.noted.update(exit=self.process.returncode, ended=time.monotonic(), stdout=out,
                          stderr=err)
        return Finished(self.argv, self.process.returncode, out, err)

    def wait_alone(self, timeout=TIMEOUT):
        """The exit status, also if what it started goes on and holds the pipes open."""
        status = self.process.wait(timeout)
        self.noted.update(exit=status, ended=time.monotonic())
        return status


def tachbpf(*argv, timeout=TIMEOUT, **kwargs):
    """Run the profiler to its end."""
    with Recording(argv, **kwargs) as recording:
        return recording.wait(timeout)


def succeeded(finished):
    assert finished.returncode == 0, repr(finished)
    return finished
