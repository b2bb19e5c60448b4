# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest plugin: an agent for each test, which sees the targets of that test only."""
import contextlib

import pytest

import agent
import cgroups
from grouping import each_worker
from http_sink import Sink
from present import absent


@each_worker
def agent_program(root):
    if not agent.program().exists():
        pytest.fail(f"{agent.program()} is not built: run make", pytrace=False)


@pytest.fixture
def place(agent_program):
    """A cgroup of v2, and its name for --cgroup."""
    mount = cgroups.v2()
    if not mount:
        absent("this host has no cgroup v2")
    with cgroups.Tree(mount) as tree:
        yield tree


@pytest.fixture
def sink():
    with Sink() as server:
        yield server


@pytest.fixture
def rig(place, out):
    """start(*flags) -> an agent that samples the test's cgroup only, at the rate that is asked for,
    and has begun to;
    target(...) -> a process there. All end with the test."""
    with contextlib.ExitStack() as stack:
        yield Rig(place, out, stack)


class Rig:
    def __init__(self, place, out, stack):
        self.place, self.out, self.stack = place, out, stack
        self.started, self.targets = None, 0

    def start(self, *flags, **more):
        flags = ["--cgroup", self.place.path(self.place.top), "--window", "1s",
                 "--budget-cpu", "0", *flags]
        self.started = self.stack.enter_context(agent.Agent(self.out, *flags, **more))
        return self.started.wait_recording()

    def target(self, *args, cgroup=None, **more):
        """Profiled, so that what it does from now on is sampled."""
        target = self.stack.enter_context(
            agent.Target(self.out, cgroup or self.place.top, *args, **more))
        self.targets += 1
        if self.started and self.started.process.poll() is None:
            self.started.wait_processes(self.targets)
        return target
