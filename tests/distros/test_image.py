# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make image, make image-agent: images of the static file and of the agent with its libraries, built and
run without a network."""
import json
import os
import shutil
import subprocess

import pytest

import container_runtimes
from here import make
from processes import kill

IMAGE = "localhost/tachbpf:test"
AGENT_IMAGES = {"amd64": "localhost/tachbpf-agent:test", "arm64": "localhost/tachbpf-agent:test-arm64"}
AGENT = "/usr/local/bin/tachbpf-agent"
# Rlimits and cgroups: see container_runtimes.py.
BUILD = ["--pull=never", "--isolation=chroot"]


@pytest.fixture(scope="module")
def podman():
    missing = container_runtimes.missing()
    if missing:
        pytest.skip(f"not installed: {missing} (make check-deps)")
    with container_runtimes.Podman() as p:
        yield p


@pytest.fixture(scope="module", params=["scratch", "localhost/base"])
def image(podman, static, request):
    """With nothing below it, and on an image as a distribution's would be."""
    if request.param != "scratch":
        podman("import", podman.home / "tree.tar", request.param)
    made(podman, "image", f"BASE={request.param}", f"IMAGE={IMAGE}")
    return request.param


def made(podman, *argv):
    done = make(*argv, f"CONTAINERS={' '.join(map(str, podman.base))}", f"IMAGEFLAGS={' '.join(BUILD)}")
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.fixture(scope="module")
def agent_image(podman):
    made(podman, "image-agent", f"AGENT_IMAGE={AGENT_IMAGES['amd64']}")
    return AGENT_IMAGES["amd64"]


@pytest.fixture(scope="module")
def arm64_agent_image(podman):
    if os.uname().machine != "x86_64":
        pytest.skip("cross-builds are tried on x86-64")
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("no gcc-aarch64-linux-gnu: run make check-all-deps")
    made(podman, "image-agent", "ARCH=arm64", f"AGENT_IMAGE={AGENT_IMAGES['arm64']}")
    return AGENT_IMAGES["arm64"]


def started(podman, image, *argv, options=()):
    return subprocess.run([*map(str, podman.base), "run", "--rm", "--runtime", "runc",
                           *container_runtimes.LIMITS, "--network", "none", *options, image, *argv],
                          capture_output=True, text=True, timeout=120)


def run(podman, *argv):
    return started(podman, IMAGE, *argv, options=["--pid=host", "--privileged"])


def looks_at_itself(podman, image, *argv, options=()):
    """It says its version and finds nothing wrong with its configuration."""
    for flag, said in (("--version", "tachbpf "), ("--check", "")):
        done = started(podman, image, *argv, flag, options=options)
        assert done.returncode == 0 and done.stdout.startswith(said), done


def test_agent_image(podman, agent_image):
    looks_at_itself(podman, agent_image)


def test_agent_image_of_arm64(podman, arm64_agent_image):
    """By qemu, which is put into the container: no machine has to know how to start its programs."""
    qemu = shutil.which("qemu-aarch64-static")
    if not qemu:
        pytest.skip("no qemu-user-static: run make check-all-deps")
    looks_at_itself(podman, arm64_agent_image, AGENT,
                    options=["-v", f"{qemu}:/qemu:ro", "--entrypoint", "/qemu", "--platform", "linux/arm64"])


def test_manifest_list(podman, agent_image, arm64_agent_image):
    """As docs/packaging.md makes it."""
    podman("manifest", "create", "tachbpf-agent:all")
    for image in (agent_image, arm64_agent_image):
        podman("manifest", "add", "tachbpf-agent:all", f"containers-storage:{image}")
    listed = json.loads(podman("manifest", "inspect", "tachbpf-agent:all"))["manifests"]
    assert [m["platform"]["architecture"] for m in listed] == ["amd64", "arm64"]
    assert {m["platform"]["os"] for m in listed} == {"linux"}


def test_image(podman, image):
    """Without a command it is the doctor; it records the host's Pythons."""
    done = run(podman)
    assert done.returncode == 0 and "ready to record" in done.stdout, done
    busy = subprocess.Popen(["/usr/bin/python3", "-c", "while True: pass"], start_new_session=True)
    try:
        done = run(podman, "-a", "-d", "1", "-r", "999", "--json")
    finally:
        kill(busy)
    assert done.returncode == 0, done.stderr
    row, = [p for p in json.loads(done.stdout)["processes"] if p["pid"] == busy.pid]
    assert row["samples"] > 0


def test_without_a_container_tool():
    done = make("image", "CONTAINERS=", PATH=os.environ["PATH"])
    assert done.returncode and "make image needs podman or docker" in done.stdout, done.stdout
