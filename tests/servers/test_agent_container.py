# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The agent in a container of podman's, with the rights that the DaemonSet gives it."""
import subprocess

import pytest

import agent
import noise
from agent import bound_s, free_port, seconds_of
from container_runtimes import IMAGE, LIMITS
from paths import REPO
from processes import kill

RATE = 999


def rights():
    """podman's options for the DaemonSet's securityContext."""
    yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")
    text = (REPO / "packaging/kubernetes/base/tachbpf-agent.yaml").read_text()
    pod, = (d["spec"]["template"]["spec"] for d in yaml.safe_load_all(text)
            if d["kind"] == "DaemonSet")
    container, = pod["containers"]
    wanted = container["securityContext"]
    assert pod["hostPID"] is True and wanted["capabilities"]["drop"] == ["ALL"]
    return ["--pid=host", "--cap-drop=all", "--security-opt", "seccomp=unconfined",
            "--security-opt", "no-new-privileges", "--read-only",
            *(f"--cap-add={name}" for name in wanted["capabilities"]["add"])]


def test_as_the_daemonset_runs_it(rig, sink, podman):
    port = free_port()
    argv = [*map(str, [
        *podman.base, "run", "--rm", "--runtime", "runc", *LIMITS, "--network", "host",
        "-v", "/usr:/usr:ro", "-v", f"{agent.program()}:/out/tachbpf-agent:ro",
        "--tmpfs", "/var/lib/tachbpf", "--tmpfs", "/run", *rights(), IMAGE,
        "/out/tachbpf-agent", "--rate", RATE, "--window", "1s", "--budget-cpu", "0",
        "--otlp-endpoint", sink.url, "--metrics-listen", f"127.0.0.1:{port}"])]
    log = rig.out / "podman.log"
    with open(log, "w") as out:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                   start_new_session=True)
    try:
        early = rig.target("early.py")
        early.spend(0.3)
        while not sink.taken():
            assert process.poll() is None, log.read_text()
            early.spend(0.3)
        stolen = noise.stolen_s()
        spent = rig.target("late.py").spend(2)
        # what is not sent 4 s after SIGTERM would stay in the container's spool
        low = bound_s(spent, RATE, noise.stolen_s() - stolen).low
        sink.wait(lambda s: seconds_of(s, "late.py") >= low, 60)
        process.terminate()         # podman hands it on
        assert process.wait(60) == 0, log.read_text()
        assert seconds_of(sink, "late.py") in bound_s(spent, RATE, noise.stolen_s() - stolen)
    finally:
        kill(process)
