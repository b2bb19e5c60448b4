# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Who a process is called, and what else is said of it."""
import os
import time

import pytest

from agent import profiles, seconds_of

ID = os.urandom(32).hex()
RATE = 999
BURN_S = 0.6        # some hundred samples


def test_names(rig, sink, scratch):
    started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url,
                        "--label", "deployment.environment.name=testing")
    docker = rig.place.make("system.slice", f"docker-{ID}.scope")
    targets = {
        "train.py": rig.target("train.py"),
        "gunicorn": rig.target("gunicorn"),
        "shop": rig.target("named.py", env={
            "OTEL_SERVICE_NAME": "shop", "OTEL_RESOURCE_ATTRIBUTES": "service.version=1.2",
            "SECRET_TOKEN": "do-not-send-me"}),
        "pay": rig.target("pay.py", env={"OTEL_RESOURCE_ATTRIBUTES": "service.name=pay"}),
        None: rig.target("in-container.py", cgroup=docker),
    }
    for target in targets.values():
        target.begin(BURN_S)
    for target in targets.values():
        target.done()
    started.end()
    sink.settle()
    by_name = {a["service.name"]: a for a, _ in profiles(sink)}
    contained = [a for a in by_name.values() if a.get("container.id") == ID]
    assert len(contained) == 1, by_name
    assert by_name.keys() - {contained[0]["service.name"]} == targets.keys() - {None}
    assert by_name["shop"]["service.version"] == "1.2"
    for attributes in by_name.values():
        assert attributes["deployment.environment.name"] == "testing"
        assert attributes["host.name"] == os.uname().nodename
    assert "container.id" not in by_name["train.py"]
    assert not any(b"do-not-send-me" in posted.body for posted in sink.taken())


@pytest.mark.parametrize("how", ("exec", "exit"))
def test_forked_children(rig, sink, how):
    """They live for milliseconds, and are another program or gone when they are named."""
    started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url)
    forker = rig.target("forker.py", env={"OTEL_SERVICE_NAME": "forker"})
    # It has its own name first: a busy agent may need another try to read its environment.
    forker.spend(0.1)
    while not any(name.startswith('tachbpf_python_processes{service="forker"') for name in started.metrics()):
        time.sleep(0.05)
    forker.begin(f"{BURN_S} {how}")
    forker.done()
    started.end()
    sink.settle()
    # What was sampled of itself before that is called after its program.
    assert {a["service.name"] for a, _ in profiles(sink)} - {"forker.py"} == {"forker"}
    assert seconds_of(sink, "forker.py") < BURN_S / 2


def test_privacy(rig, sink):
    """Command lines and whole paths stay here if that is wanted."""
    started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url, "--no-command-line",
                        "--paths", "base", "--no-host-name", "--no-usernames")
    rig.target("private.py").spend(BURN_S)
    started.end()
    sink.settle()
    assert list(profiles(sink, "private.py"))
    for posted in sink.taken():
        for word in (str(rig.out).encode(), os.uname().nodename.encode()):
            assert word not in posted.body
