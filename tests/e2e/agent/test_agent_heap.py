# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Mode heap: what a server gets are the objects that the programs say they hold, by type."""
import signal

import pytest

from agent import decoded, profiles
from otlp_decode import HEAP_OBJECTS, HEAP_SPACE, ExportProfilesServiceRequest, Published

SESSIONS, BYTES = 4000, 2000
# As targets/spend.py. Each line doubles what it holds.
SHOP = f"""
import sys, time
class Session:
    __slots__ = "data",
    def __init__(self):
        self.data = bytearray({BYTES} - 1)     # and a NUL
KEPT = [Session() for _ in range({SESSIONS})]
print("ready", flush=True)
for line in iter(sys.stdin.readline, ""):
    KEPT.extend([Session() for _ in KEPT])
    print(0, 0, flush=True)
"""
SESSION = "__main__.Session"
# The whole heap of such a small program is read, or almost.
NEAR = 0.05


def held(sink, service, kind):
    """Of each profile: type -> value."""
    return [{stack[0][0]: value for stack, value, _ in p["samples"]} for _, p in profiles(sink, service, kind)]


def metric(agent, name):
    return agent.metrics().get(f"tachbpf_agent_heap_{name}", 0)


def wait_profiles(agent, cnt):
    """Until there are so many more than now."""
    cnt += metric(agent, "profiles_total")
    agent.wait_until(lambda: metric(agent, "profiles_total") >= cnt)


def shop(rig, *flags, modes="heap", cnt=1):
    for number in range(cnt):
        (rig.out / "shop.py").write_text(SHOP)
        target = rig.target("shop.py")
    agent = rig.start("--modes", modes, "--heap-cpu", "100%", *flags)
    return agent, target


def test_types_of_a_program(rig, sink):
    """Without any sampling. What is sent explains all of the anonymous memory."""
    agent, target = shop(rig, "--otlp-endpoint", sink.url, "--heap-every", "1h")
    agent.wait_until(lambda: metric(agent, "profiles_total"))
    anonymous = anonymous_bytes(target.pid)
    text = agent.metrics()
    agent.end()
    sink.settle()
    assert "counting objects by type; nothing is sampled" in agent.said()
    objects, = held(sink, "shop.py", HEAP_OBJECTS)
    space, = held(sink, "shop.py", HEAP_SPACE)
    assert objects[SESSION] == pytest.approx(SESSIONS, rel=NEAR)
    assert objects["bytearray"] == pytest.approx(SESSIONS, rel=NEAR)
    assert space["bytearray"] == pytest.approx(SESSIONS * (BYTES + 56), rel=NEAR)
    assert objects["function"] > 100 and objects["dict"] > 100 and set(objects) < set(space)
    assert sum(space.values()) == pytest.approx(anonymous, rel=0.03)
    assert text['tachbpf_agent_heap_censuses_total{result="taken"}'] == 1
    assert text["tachbpf_agent_heap_cpu_seconds_total"] > 0
    if ExportProfilesServiceRequest:
        for posted in sink.taken():
            assert Published(posted.body).resources == decoded(posted).resources


def anonymous_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("RssAnon:"))


def test_again_and_again(rig, sink):
    """Beside time; what is there later is in later profiles. A reload makes it rarer."""
    config = rig.out / "agent.yaml"
    config.write_text("heap: {every: 1s}\n")
    config.chmod(0o600)
    agent, target = shop(rig, "--otlp-endpoint", sink.url, "--config", config, modes="cpu,heap")
    wait_profiles(agent, 1)
    target.spend("")
    wait_profiles(agent, 2)
    config.write_text("heap: {every: 1h}\n")
    agent.process.send_signal(signal.SIGHUP)
    agent.wait_said("configuration reloaded: 1 keys changed")
    cnt = metric(agent, "profiles_total")
    rig.target().spend(0.5)
    sink.wait(lambda sink: held(sink, "spend.py", HEAP_OBJECTS))
    assert metric(agent, "profiles_total") <= cnt + 2       # that one's, and one that had begun
    agent.end()
    sink.settle()
    found = [h[SESSION] for h in held(sink, "shop.py", HEAP_OBJECTS)]
    assert found[0] == pytest.approx(SESSIONS, rel=NEAR) and found[-1] == pytest.approx(2 * SESSIONS, rel=NEAR)
    assert list(profiles(sink, "spend.py"))


def test_some_processes_stand_for_all(rig, sink):
    agent, _ = shop(rig, "--otlp-endpoint", sink.url, "--heap-every", "1h", "--heap-processes", "1", cnt=3)
    agent.wait_until(lambda: metric(agent, "profiles_total"))
    assert agent.metrics()['tachbpf_agent_heap_censuses_total{result="taken"}'] == 1
    agent.end()
    sink.settle()
    objects, = held(sink, "shop.py", HEAP_OBJECTS)
    assert objects[SESSION] == pytest.approx(3 * SESSIONS, rel=NEAR)


def test_files_of_pprof(rig, sink):
    out = rig.out / "pprof"
    agent, _ = shop(rig, "--pprof-dir", out, "--heap-every", "1h")
    agent.wait_until(lambda: metric(agent, "profiles_total"))
    agent.end()
    for kind in "heap_objects", "heap_space":
        assert len(list(out.glob(f"shop.py-{kind}-*.pb.gz"))) == 1, sorted(out.iterdir())
