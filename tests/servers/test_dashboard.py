# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Debian's Prometheus answers each panel of the dashboard, on an agent with all modes and --async."""
import math
import re
import time

import pytest

import dashboard
from processes import TIMEOUT
from services import Prometheus

# Each line: for so many seconds all that there is a panel for.
SHOP = """
import asyncio, gc, mmap, sys, threading, time

held = []

def touch():
    new = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, 1 << 20, 4096):
        new[at] = 1
    return new

def handle():
    try:
        raise ValueError
    except ValueError:
        sum(range(2000))

def spend(until):
    while time.monotonic() < until:
        handle()
        cycle = []
        cycle.append(cycle)
        gc.collect()

async def serve(until):
    while time.monotonic() < until:
        await asyncio.sleep(0.05)
        held.append(touch())
        touch().close()
        del held[:-20]

print("ready", flush=True)
for line in iter(sys.stdin.readline, ""):
    until = time.monotonic() + float(line)
    threads = [threading.Thread(target=spend, args=(until,)) for _ in range(2)]
    for t in threads:
        t.start()
    asyncio.run(serve(until))
    for t in threads:
        t.join()
    print(0, 0, flush=True)
"""
RESOURCE = {"service.namespace": "shop", "service.version": "1.2", "deployment.environment.name": "prod"}
CHOSEN = {"job": "tachbpf-agent", "service": "shop.py",
          **{name.replace(".", "_"): value for name, value in RESOURCE.items()}}
# What there need not be any of.
OPTIONAL = re.compile(r".* > 0")


@pytest.fixture
def watched(rig, sink, tool, directories):
    """(agent, target, Prometheus): no process is there at first, and then one."""
    tool("prometheus", "prometheus")
    (rig.out / "shop.py").write_text(SHOP)
    agent = rig.start("--rate", 199, "--modes", "cpu,gil,offcpu,exception,memory", "--async", "--memory-interval", "1s",
                      "--otlp-endpoint", sink.url)
    target = rig.target("shop.py", env={"OTEL_RESOURCE_ATTRIBUTES": ",".join(f"{k}={v}" for k, v in RESOURCE.items())})
    with Prometheus(directories("prometheus"), f"127.0.0.1:{agent.port}") as server:
        yield agent, target, server


def without_rows(server, chosen):
    return [(panel, expression) for panel, expression in dashboard.queries()
            if not OPTIONAL.fullmatch(expression) and not server.query(dashboard.expand(expression, chosen))]


def assert_finite(server, begin):
    """Each query, with all chosen, in each second since then."""
    for panel, expression in dashboard.queries():
        for row in server.query_range(dashboard.expand(expression, {}), begin, time.time()):
            odd = [(t, v) for t, v in row["values"] if not math.isfinite(float(v))]
            assert not odd, (panel, expression, row["metric"], odd[:3])


def assert_choices_count(server, chosen):
    """Each variable decides, in each panel of services."""
    for name in CHOSEN:
        other = {**chosen, name: "of-nobody"}
        left = [expression for _, expression in dashboard.queries() if "tachbpf_python" in expression
                and server.query(dashboard.expand(expression, other))]
        assert not left, (name, left)


def test_each_panel_has_rows_and_no_nan(watched):
    """While a service works, while it idles, and when it is gone."""
    agent, target, server = watched
    begin, chosen = time.time(), {**CHOSEN, "instance": f"127.0.0.1:{agent.port}"}
    target.begin(20)
    end = time.monotonic() + TIMEOUT
    while missing := without_rows(server, chosen):
        assert time.monotonic() < end, (missing, agent.metrics_text())
        time.sleep(0.5)
    assert_choices_count(server, chosen)
    for name, (selector, label) in dashboard.variables().items():
        found = server.query(f"count by ({label}) ({dashboard.expand(selector, chosen)})")
        assert chosen[name] in [row["metric"].get(label) for row in found], (name, found)
    target.answer()
    target.__exit__()
    while server.query("tachbpf_python_processes"):
        assert time.monotonic() < end + TIMEOUT, agent.metrics_text()
        time.sleep(0.5)
    time.sleep(12)      # rates are 0 after ten seconds
    assert_finite(server, begin)
