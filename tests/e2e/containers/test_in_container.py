# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tachbpf itself in a container, and with no more rights than it needs."""
import contextlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from container_runtimes import IMAGE, LIMITS, program_of
from paths import REPO, binary
from present import absent
from processes import TIMEOUT, kill, use_cpu
from recording import Recording, succeeded, tachbpf

BURN = "while True: pass"
# capabilities(7): what a recording itself keeps, see docs/containers.md; its helpers: capture/test_rights.py
NEEDED = {"bpf": 39, "perfmon": 38}
SYS_ADMIN = 21


@pytest.fixture
def target(podman, system):
    """A busy container; what a recording must have of it."""
    with podman.running("busy", "/usr", [program_of(system), "-c", BURN]) as (_, pid):
        yield pid


def profiler(podman, argv, *options, status=0):
    """tachbpf in a container of podman's, which has this host's /usr and the binary."""
    done = subprocess.run([*map(str, [
        *podman.base, "run", "--rm", "--runtime", "runc", *LIMITS, "--network", "none",
        "-v", "/usr:/usr:ro", "-v", f"{binary()}:/out/tachbpf:ro", *options, IMAGE,
        "/out/tachbpf", *argv])], capture_output=True, text=True, timeout=TIMEOUT,
        stdin=subprocess.DEVNULL)
    assert done.returncode == status, (done.stdout[-2000:], done.stderr)
    return done


def expect_target(summary, pid, name="busy"):
    row, = [p for p in summary["processes"] if p["pid"] == pid]
    assert row["samples"] > 0 and row["ns_pid"] == 1
    assert row["container"]["runtime"] == "podman"
    assert row["container"]["name"] == name and row["container"]["image"] == IMAGE


RECORD = ["-a", "-r", 999, "-d", 2, "-o", "/tmp/x", "--json"]


def test_privileged(podman, target):
    done = profiler(podman, RECORD, "--pid=host", "--privileged")
    expect_target(json.loads(done.stdout), target)


def daemonset():
    yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")
    documents = yaml.safe_load_all((REPO / "packaging/kubernetes/base/tachbpf-agent.yaml").read_text())
    found, = [d for d in documents if d["kind"] == "DaemonSet"]
    return found


def test_as_the_daemonset_runs_it(podman, target):
    """A recording with the agent's rights and environment."""
    pod = daemonset()["spec"]["template"]["spec"]
    assert pod["hostPID"] is True
    container, = pod["containers"]
    rights = container["securityContext"]
    assert rights["capabilities"]["drop"] == ["ALL"]
    assert rights["seccompProfile"] == {"type": "Unconfined"}
    options = ["--pid=host", "--cap-drop=all", "--security-opt", "seccomp=unconfined",
               "--security-opt", "no-new-privileges"]
    options += [f"--cap-add={name}" for name in rights["capabilities"]["add"]]
    values = {"spec.nodeName": "node-7", "metadata.name": "tachbpf-x",
              "metadata.namespace": "tachbpf"}
    for entry in container["env"]:
        value = values[entry["valueFrom"]["fieldRef"]["fieldPath"]] if "valueFrom" in entry else entry["value"]
        options += ["-e", f"{entry['name']}={value}"]
    summary = json.loads(profiler(podman, RECORD, *options).stdout)
    expect_target(summary, target)
    assert summary["kubernetes"] == {"node": "node-7", "pod": "tachbpf-x",
                                     "namespace": "tachbpf"}


def test_without_the_hosts_pid_namespace(podman):
    done = profiler(podman, RECORD, "--privileged", status=1)
    assert "PID namespace" in done.stderr and "--pid=host" in done.stderr
    assert "hostPID: true" in done.stderr and len(done.stderr.splitlines()) == 1
    found = json.loads(profiler(podman, ["doctor", "--json"], "--privileged", status=1).stdout)
    check, = [c for c in found["checks"] if c["name"] == "PID namespace"]
    assert check["verdict"] == "problem" and "--pid=host" in check["fix"]


def test_ps_and_doctor(podman, target):
    done = profiler(podman, ["ps", "--json"], "--pid=host", "--privileged")
    row, = [p for p in json.loads(done.stdout)["pythons"] if p["pid"] == target]
    assert row["container"]["name"] == "busy" and row["profilable"]
    done = profiler(podman, ["doctor", "--json"], "--pid=host", "--privileged")
    assert json.loads(done.stdout)["ok"]


def test_containerfile(podman, target):
    """Built as it says, from an image of that name which only has what is mounted into it."""
    podman("import", podman.home / "tree.tar", "localhost/base")
    context = podman.home / "context"
    context.mkdir(parents=True)
    shutil.copy(binary(), context / "tachbpf")
    podman("build", "--pull=never", "--isolation=chroot", "-f",
           REPO / "packaging" / "Containerfile", "--build-arg", "BASE=localhost/base", "-t", "localhost/tachbpf", context)
    run = [*map(str, podman.base), "run", "--rm", "--runtime", "runc", *LIMITS,
           "--network", "none", "--pid=host", "--privileged", "-v", "/usr/lib:/usr/lib:ro",
           "-v", "/usr/lib64:/usr/lib64:ro", "localhost/tachbpf"]
    done = subprocess.run([*run, *map(str, RECORD)], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    expect_target(json.loads(done.stdout), target)
    done = subprocess.run(run, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0 and "ready to record" in done.stdout


# ---- least privilege ----

def status_of(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def caps(pid, which="CapEff"):
    bits = int(status_of(pid)[which], 16)
    return {bit for bit in range(64) if bits >> bit & 1}


def test_what_is_kept_after_loading(system, out):
    """A recording that runs has what it needs and cannot get more; new processes still come."""
    had = caps("self")
    with Recording(["-a", "-r", 999, "-o", out / "x", "--json"]) as recording:
        recording.wait_recording()
        end = time.monotonic() + TIMEOUT
        while status_of(recording.process.pid)["NoNewPrivs"] != "1":
            assert time.monotonic() < end, "no right was given up"
            time.sleep(0.01)
        kept = caps(recording.process.pid)
        assert kept == set(NEEDED.values()) & had
        assert caps(recording.process.pid, "CapPrm") == kept and SYS_ADMIN not in kept
        with contextlib.ExitStack() as stack:
            late = subprocess.Popen(system.command("-c", BURN), start_new_session=True)
            stack.callback(kill, late)
            # found by looking, not by its exec: a copy that nobody has seen before
            copy = out / "python-copy"
            shutil.copy(program_of(system), copy)
            other = subprocess.Popen([copy, "-c", BURN], start_new_session=True)
            stack.callback(kill, other)
            time.sleep(2)           # user space looks at what is new ten times a second
            for process in (late, other):
                use_cpu(process.pid, 0.5)
            summary = succeeded(recording.stop()).summary
    for process in (late, other):
        row, = [p for p in summary["processes"] if p["pid"] == process.pid]
        assert row["samples"] > 0


def test_a_started_command_keeps_its_rights(system, out):
    code = "print([l for l in open('/proc/self/status') if l[:6] in ('CapEff', 'NoNewP')])"
    expected = subprocess.run(system.command("-c", code), capture_output=True, text=True,
                              check=True).stdout
    done = tachbpf("-q", "-o", out / "x.tach", "--", *system.command("-c", code))
    assert succeeded(done).stdout == expected


def test_file_capabilities(target, out):
    """Not root, by what setcap gave the program: names come from processes' command lines."""
    if not shutil.which("setcap", path="/usr/sbin:/sbin:/usr/bin"):
        absent("setcap is not installed: run make check-deps")
    program = out / "tachbpf"
    shutil.copy(binary(), program)
    subprocess.run(["setcap", "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,"
                    "cap_checkpoint_restore=ep", program], check=True)
    mine = out / "mine"
    mine.mkdir()
    os.chown(mine, 65534, 65534)
    out.chmod(0o755)
    done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                           program, *map(str, RECORD[:-2]), mine / "x", "--json"],
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    expect_target(json.loads(done.stdout), target)
