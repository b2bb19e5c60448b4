# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the agent's BPF maps take of the kernel's memory, by the kernel's own count: what is there, not
what there could be."""
import contextlib
import time
from pathlib import Path

from agent import Agent
from bpf_objects import held, map_entries
from processes import TIMEOUT
from selecting import Burner

MIB = 1 << 20
# For each possible CPU beyond those, what one takes: limits.md.
CPUS, CPU_BYTES = 8, 256 << 10
PYTHONS = 8
NOBODY = "/tachbpf-nobody"


def possible_cpus():
    last = Path("/sys/devices/system/cpu/possible").read_text().strip()
    return int(last.replace(",", "-").split("-")[-1]) + 1


def most():
    return 8 * MIB + max(0, possible_cpus() - CPUS) * CPU_BYTES


def taken(agent):
    """By all maps; each once, whatever holds it."""
    by_id = {said["map_id"]: int(said["memlock"])
             for said in held(agent.process.pid, "map_id").values()}
    return sum(by_id.values())


def test_an_idle_agents_maps_are_small(root, scratch):
    with Agent(scratch, "--cgroup", NOBODY) as agent:
        agent.wait_recording()
        idle = taken(agent)
        agent.end()
    assert 0 < idle <= most()


def test_processes_take_their_entries_only(root, scratch, python):
    with Agent(scratch) as agent, contextlib.ExitStack() as stack:
        agent.wait_recording()
        before = taken(agent)
        pids = {stack.enter_context(Burner(python)).pid for _ in range(PYTHONS)}
        end = time.monotonic() + TIMEOUT
        while pids - map_entries(agent.process.pid, "py_procs"):
            assert time.monotonic() < end, "the agent does not find them"
            time.sleep(0.1)
        after = taken(agent)
        agent.end()
    assert after <= most() and after - before < MIB
