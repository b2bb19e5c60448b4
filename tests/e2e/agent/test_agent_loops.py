# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The agent's metrics of event loops: with async, not without."""

# It blocks its loop while it reads a line, and says how long.
BLOCKS = """
import asyncio, sys, time

async def main():
    sleepers = [asyncio.ensure_future(asyncio.sleep(10000)) for _ in range(7)]
    await asyncio.sleep(0.01)
    print("ready", flush=True)
    while True:
        sys.stdin.readline()
        print(0, 0, flush=True)
        await asyncio.sleep(0.01)

asyncio.get_event_loop().run_until_complete(main())
"""
SERVICE = '{service="blocks.py"}'


def metric(agent, family):
    return agent.metrics().get(f"tachbpf_python_asyncio_{family}{SERVICE}")


def test_a_blocked_loop(rig):
    (rig.out / "blocks.py").write_text(BLOCKS)
    agent = rig.start("--async")
    rig.target("blocks.py")
    agent.wait_until(lambda: (metric(agent, "lag_seconds") or 0) > 0.3)
    assert metric(agent, "longest_callback_seconds") > 0
    assert metric(agent, "loops") == 1
    agent.wait_until(lambda: metric(agent, "tasks") == 8)
    assert metric(agent, "ready_callbacks") == 0
    counts = agent.metrics()
    assert counts["tachbpf_agent_asyncio_looks_total"] > 0 and counts["tachbpf_agent_asyncio_look_failures_total"] >= 0


def test_off_costs_nothing(rig):
    (rig.out / "blocks.py").write_text(BLOCKS)
    agent = rig.start()
    rig.target("blocks.py")
    agent.wait_until(lambda: f"tachbpf_python_threads{SERVICE}" in agent.metrics())
    assert not [name for name in agent.metrics() if "asyncio" in name]
