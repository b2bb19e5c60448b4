# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Memory as sample types: what a server gets is what processes touched and hold."""
import time

import noise
from agent import profiles
from processes import TIMEOUT

MIB = 1 << 20
EVERY = 64 * 1024
ALLOC, INUSE = ("alloc_space", "bytes"), ("inuse_space", "bytes")
# As targets/spend.py, but each line says how many MiB to touch in each of two functions.
GROW = """
import mmap, sys, time
MIB, held = 1 << 20, []

def touched():
    new = mmap.mmap(-1, MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, MIB, 4096):
        new[at] = 1
    return new

def keep():
    held.append(touched())

def drop():
    touched().close()

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

print("ready", flush=True)
for line in iter(sys.stdin.readline, ""):
    for _ in range(int(line)):
        drop()
    time.sleep(2.5)         # it is seen that all of it is gone
    for _ in range(int(line)):
        keep()
    burn(0.5)               # so many samples of time that none would be a wonder
    print(0, 0, flush=True)
"""


def of_function(profile, name):
    """Bytes of all stacks that the function is in."""
    return sum(value for stack, value, _ in profile["samples"] if name in [frame[0] for frame in stack])


def metric(agent, family):
    return agent.metrics().get('tachbpf_python_memory_%s{service="grow.py"}' % family, 0)


def wait_held(agent, low):
    """Pages are looked at once a second."""
    end = time.monotonic() + TIMEOUT
    while metric(agent, "held_bytes") < low:
        assert time.monotonic() < end, agent.metrics_text()
        time.sleep(0.1)


def grown(rig, sink, mib, *flags):
    """An agent that has seen a target touch so many MiB twice, and keep the half. What it said, and
    the sum of what was touched by function, and what was held last."""
    (rig.out / "grow.py").write_text(GROW)
    agent = rig.start("--otlp-endpoint", sink.url, "--modes", "cpu,memory", "--memory-interval", "1s", *flags)
    target = rig.target("grow.py")
    target.begin(mib)
    target.answer()
    wait_held(agent, 0.8 * mib * MIB)
    return agent, target


def test_touched_and_held_memory(rig, sink):
    mib = 64
    agent, target = grown(rig, sink, mib)
    bound = noise.bytes_bound(mib * MIB, EVERY)
    touched = metric(agent, "touched_bytes_total")
    anonymous = metric(agent, "anonymous_bytes")
    assert anonymous > mib * MIB
    agent.end()
    sink.settle()
    sums = {name: sum(of_function(p, name) for _, p in profiles(sink, "grow.py", ALLOC))
            for name in ("keep", "drop")}
    for name, its in sums.items():
        assert its in bound, (name, its, str(bound))
    assert sum(sums.values()) <= touched < 2.5 * mib * MIB
    # all of it, in each window since it was touched; the last one is the agent's end
    held = [p for _, p in profiles(sink, "grow.py", INUSE)]
    last = max(held, key=lambda p: p["time"])
    assert of_function(last, "keep") in bound, (of_function(last, "keep"), str(bound))
    assert of_function(last, "drop") <= 2 * EVERY
    # time is sampled as ever
    assert list(profiles(sink, "grow.py"))


def test_a_process_that_ends_holds_nothing(rig, sink):
    mib = 16
    agent, target = grown(rig, sink, mib)
    other = rig.target("other.py")
    target.process.stdin.close()
    target.process.wait(TIMEOUT)
    end = time.monotonic() + TIMEOUT
    while metric(agent, "held_bytes"):
        assert time.monotonic() < end
        time.sleep(0.1)
    ended_ns = time.time_ns()
    time.sleep(2.5)         # two windows, at least
    other.spend(0.1)
    agent.end()
    sink.settle()
    assert [p for _, p in profiles(sink, "grow.py", INUSE)]
    late = [p for _, p in profiles(sink, "grow.py", INUSE) if p["time"] > ended_ns]
    assert sum(of_function(p, "keep") for p in late) == 0


def test_files_of_pprof(rig, sink):
    out = rig.out / "pprof"
    agent, _ = grown(rig, sink, 16, "--pprof-dir", out)
    agent.end()
    kinds = {kind for kind in ("cpu", "alloc_space", "inuse_space")
             if list(out.glob(f"grow.py-{kind}-*.pb.gz"))}
    assert kinds == {"cpu", "alloc_space", "inuse_space"}, sorted(out.iterdir())
