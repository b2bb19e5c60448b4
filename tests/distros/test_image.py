# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make image: the static file in an image, built and run without a network."""
import json
import os
import subprocess

import pytest

import container_runtimes
from here import make
from processes import kill

IMAGE = "localhost/tachbpf:test"
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
    done = make("image", f"BASE={request.param}", f"CONTAINERS={' '.join(map(str, podman.base))}",
                f"IMAGE={IMAGE}", f"IMAGEFLAGS={' '.join(BUILD)}")
    assert done.returncode == 0, done.stdout[-3000:]
    return request.param


def run(podman, *argv):
    return subprocess.run([*map(str, podman.base), "run", "--rm", "--runtime", "runc",
                           *container_runtimes.LIMITS, "--network", "none", "--pid=host",
                           "--privileged", IMAGE, *argv], capture_output=True, text=True,
                          timeout=120)


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
